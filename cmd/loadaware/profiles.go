package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/render"
)

const profilesUsage = `[ID | metadata] [flags]

Lists the usage profiles of a namespace of a running server: groups of runs, of any task, that use
resources alike. Profile 0 contains the outliers, the runs without a profile. With an ID the
command describes that profile and lists its tasks. With the word metadata it shows which facts
predict the profile of a task before its first run: for each field the accuracy with this field
alone, and the accuracy with all other fields.

  loadaware profiles
  loadaware profiles 3 -o json
  loadaware profiles metadata`

func usageProfiles(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("profiles", profilesUsage, "url", "token")
	namespace := cmd.String("namespace", "", "namespace; if empty, that of the token, or else default")
	limit := cmd.Int("limit", 100, "with an ID: maximum number of listed tasks, 1 to 1000")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if len(rest) > 1 {
		return cli.UsageErrorf("profiles takes at most one argument, an id or metadata, but was given %q; see loadaware profiles --help", rest)
	}
	path, query := "/profiles", url.Values{}
	if *namespace != "" {
		query.Set("namespace", *namespace)
	}
	isMetadata := len(rest) == 1 && rest[0] == "metadata"
	hasID := len(rest) == 1 && !isMetadata
	if hasID {
		if _, err := strconv.ParseUint(rest[0], 10, 31); err != nil {
			return cli.UsageErrorf("%q is neither the id of a profile nor metadata; loadaware profiles lists the ids", rest[0])
		}
		path += "/" + rest[0]
		query.Set("limit", strconv.Itoa(*limit))
	}
	var answer json.RawMessage
	if err := cmd.Server().Call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &answer); err != nil {
		return err
	}
	if *format == "json" && !isMetadata {
		return render.JSON(con.Out, answer)
	}
	if hasID {
		var detail api.UsageProfileDetail
		if err := json.Unmarshal(answer, &detail); err != nil {
			return err
		}
		return render.UsageProfile(con.Out, *format, &detail)
	}
	var set api.UsageProfileSet
	if err := json.Unmarshal(answer, &set); err != nil {
		return err
	}
	if isMetadata {
		return render.ProfileMetadata(con.Out, *format, &set)
	}
	return render.UsageProfiles(con.Out, *format, &set)
}
