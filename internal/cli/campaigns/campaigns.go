// Package campaigns implements the command campaign, which reproduces archived runs.
package campaigns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/textfile"
)

const campaignUsage = `create NAME --dag DAG --conf JSON [flags]
       loadaware campaign register ID ARCHIVE.csv
       loadaware campaign suggest ARCHIVE.csv [--dag DAG] [--count N] [--campaign ID]
       loadaware campaign suggest --airflow-url URL --dag DAG [--count N] [--campaign ID]
       loadaware campaign status [ID]
       loadaware campaign reset ID RUN --to 0|17|37
       loadaware campaign pause | resume ID

A campaign reproduces archived runs of a DAG in a sandbox, so that their usage is known
before production needs it. A campaign needs --conf, whose values override those in the conf
of each archived run, or --pool. Airflow executes the runs; see docs/campaigns.md. ARCHIVE.csv
has the columns of loadaware import, where memory_max_bytes may be empty. The features of a
run are its conf, except those whose values differ between the tasks or instances of the run.
--map and --unit read a CSV with other column names and units. The archive may also be JSON
lines with scenario, execution_date and conf.

suggest chooses diverse and representative runs of an archive and prints them. The column
"adds" is the share of the uncertainty about all archived runs that the run removes; "in all"
is the sum up to this run. -o json prints the runs in the form that register reads. suggest
uses the loadaware server only with --campaign: then it reads the registered runs of the
campaign, chooses other runs, and registers them instead of printing them. The archive may
also be the history of Airflow. The user of Airflow needs only read access; the password is
read from LOADAWARE_AIRFLOW_PASSWORD, or a token from LOADAWARE_AIRFLOW_TOKEN.`

type campaignFlags struct {
	*cli.Command
	namespace, dag, pool, conf, version, until, notes, format *string
	runs, to, count                                           *int
	campaign                                                  *int64
	layout                                                    *file.Layout
	gbh                                                       *float64
}

var subcommands = map[string]func(*campaignFlags, context.Context, cli.Console, []string) error{
	"create": (*campaignFlags).create, "register": (*campaignFlags).register, "suggest": (*campaignFlags).suggest,
	"status": (*campaignFlags).status, "reset": (*campaignFlags).reset, "pause": (*campaignFlags).pause, "resume": (*campaignFlags).resume,
}

// Run runs the command campaign.
func Run(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("campaign", campaignUsage, "url", "token", "airflow-user")
	f := &campaignFlags{
		Command:   cmd,
		namespace: cmd.NamespaceFlag(),
		dag:       cmd.String("dag", "", "create: the DAG whose runs are reproduced; suggest: choose only runs of this DAG, or of all DAGs if empty"),
		pool:      cmd.String("pool", "", "Airflow pool of the reproduced tasks"),
		conf:      cmd.String("conf", "", "sandbox settings as a JSON object, or @FILE"),
		version:   cmd.String("dag-version", "", "version of the DAG that must be deployed"),
		runs:      cmd.Int("runs", 0, "budget: maximum number of DAG runs, including repeated attempts; 0 for any number"),
		gbh:       cmd.Float64("gbh", 0, "budget: maximum allocated GB·h of the reproduced tries; 0 for any amount"),
		until:     cmd.String("until", "", "budget: no run starts after this time, such as 2030-01-03T00:00:00Z"),
		to:        cmd.Int("to", 0, "state to which reset moves a run: 0 deploys again, 17 runs again, 37 profiles again"),
		notes:     cmd.String("notes", "", "why a run is reset"),
		count:     cmd.Int("count", 20, "suggest: number of runs"),
		campaign:  cmd.Int64("campaign", 0, "suggest: id of the campaign with which the chosen runs are registered; runs that it has already are not chosen"),
		layout:    cmd.LayoutFlags(),
		format:    cmd.String("o", "text", "output: text or json"),
	}
	cmd.StringVar(&cmd.AirflowURL, "airflow-url", "", "suggest: URL of the Airflow whose ended runs of --dag are the archive")
	cmd.Envs["airflow-url"] = "LOADAWARE_AIRFLOW_URL"
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckLayout(f.layout); err != nil {
		return err
	}
	if *f.format != "text" && *f.format != "json" {
		return cli.UsageErrorf("-o must be text or json, not %q", *f.format)
	}
	if len(rest) == 0 || subcommands[rest[0]] == nil {
		return cli.UsageErrorf("use create, register, suggest, status, reset, pause or resume; see loadaware campaign --help")
	}
	return subcommands[rest[0]](f, ctx, con, rest[1:])
}

func (f *campaignFlags) create(ctx context.Context, con cli.Console, args []string) error {
	if len(args) != 1 || *f.dag == "" {
		return cli.UsageErrorf("use loadaware campaign create NAME --dag DAG")
	}
	request := api.CampaignRequest{Name: args[0], Namespace: f.namespace, DagID: *f.dag, Pool: cli.TextOrNil(*f.pool), Version: cli.TextOrNil(*f.version)}
	budget, err := f.budget()
	if err != nil {
		return err
	}
	request.Budget = budget
	if request.Conf, err = confFlag(*f.conf); err != nil {
		return err
	}
	var created api.Campaign
	if err := f.Server().Call(ctx, http.MethodPost, "/campaigns", request, &created); err != nil {
		return err
	}
	return f.print(con, &created)
}

func (f *campaignFlags) budget() (*api.CampaignBudget, error) {
	if *f.runs == 0 && *f.gbh == 0 && *f.until == "" {
		return nil, nil
	}
	budget := &api.CampaignBudget{Runs: f.runs, Gbh: f.gbh}
	if *f.until != "" {
		until, err := time.Parse(time.RFC3339, *f.until)
		if err != nil {
			return nil, cli.UsageErrorf("--until %q is not a time with a zone; write 2030-01-03T00:00:00Z", *f.until)
		}
		budget.Until = &until
	}
	return budget, nil
}

// confFlag returns the JSON object in the value, or in the file that the value names after an @; nil if the value or the
// file is empty.
func confFlag(value string) (json.RawMessage, error) {
	if name, isFile := strings.CutPrefix(value, "@"); isFile {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read --conf: %w", err)
		}
		value = textfile.TrimMark(text)
	}
	if value == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil {
		return nil, cli.UsageErrorf("--conf is not a JSON object: %v", err)
	}
	return json.RawMessage(value), nil
}

func (f *campaignFlags) status(ctx context.Context, con cli.Console, args []string) error {
	if len(args) == 1 {
		path, err := campaignPath(args[0], "")
		if err != nil {
			return err
		}
		var c api.Campaign
		if err := f.Server().Call(ctx, http.MethodGet, path, nil, &c); err != nil {
			return err
		}
		return f.print(con, &c)
	}
	if len(args) > 1 {
		return cli.UsageErrorf("use loadaware campaign status [ID]")
	}
	var page api.CampaignPage
	if err := f.Server().Call(ctx, http.MethodGet, "/campaigns?limit=1000", nil, &page); err != nil {
		return err
	}
	if *f.format == "json" {
		return render.JSON(con.Out, page)
	}
	return render.Campaigns(con.Out, page.Campaigns)
}

func (f *campaignFlags) reset(ctx context.Context, con cli.Console, args []string) error {
	if len(args) != 2 || !f.Given("to") {
		return cli.UsageErrorf("use loadaware campaign reset ID RUN --to 0|17|37")
	}
	if n, err := strconv.Atoi(args[1]); err != nil || n < 1 {
		return cli.UsageErrorf("%q is not the number of a run; see loadaware campaign status", args[1])
	}
	path, err := campaignPath(args[0], "/runs/"+args[1]+"/reset")
	if err != nil {
		return err
	}
	var run api.CampaignRun
	if err := f.Server().Call(ctx, http.MethodPost, path, api.CampaignResetRequest{To: api.CampaignState(*f.to), Notes: cli.TextOrNil(*f.notes)}, &run); err != nil {
		return err
	}
	if *f.format == "json" {
		return render.JSON(con.Out, run)
	}
	_, err = fmt.Fprintf(con.Out, "run %d is in state %q (%d), attempt %d\n", run.N, run.StateName, run.State, run.Attempt)
	return err
}

func (f *campaignFlags) pause(ctx context.Context, con cli.Console, args []string) error {
	return f.change(ctx, con, args, "/pause", nil)
}

func (f *campaignFlags) resume(ctx context.Context, con cli.Console, args []string) error {
	budget, err := f.budget()
	if err != nil {
		return err
	}
	return f.change(ctx, con, args, "/resume", api.CampaignResumeRequest{Budget: budget})
}

// change pauses or resumes the campaign in `args`, and prints the campaign. The argument `resource` is /pause or /resume.
func (f *campaignFlags) change(ctx context.Context, con cli.Console, args []string, resource string, body any) error {
	if len(args) != 1 {
		return cli.UsageErrorf("use loadaware campaign %s ID", resource[1:])
	}
	path, err := campaignPath(args[0], resource)
	if err != nil {
		return err
	}
	var c api.Campaign
	if err := f.Server().Call(ctx, http.MethodPost, path, body, &c); err != nil {
		return err
	}
	return f.print(con, &c)
}

func (f *campaignFlags) print(con cli.Console, c *api.Campaign) error {
	if *f.format == "json" {
		return render.JSON(con.Out, c)
	}
	return render.Campaign(con.Out, c)
}

func campaignPath(id, resource string) (string, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 {
		return "", cli.UsageErrorf("%q is not the id of a campaign; see loadaware campaign status", id)
	}
	return "/campaigns/" + id + resource, nil
}
