package campaigns

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/campaign/suggest"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
)

func (f *campaignFlags) register(ctx context.Context, con cli.Console, args []string) error {
	if len(args) != 2 {
		return cli.UsageErrorf("use loadaware campaign register ID ARCHIVE.csv")
	}
	path, err := campaignPath(args[0], "")
	if err != nil {
		return err
	}
	archive, err := f.readArchive(con, args[1])
	if err != nil {
		return err
	}
	if err := f.checkDAG(ctx, path, args[1], archive); err != nil {
		return err
	}
	warnOfDiffering(con, archive)
	return f.send(ctx, con, f.Server(), path+"/runs", archive.Runs)
}

// warnOfDiffering prints a warning that names the features that differ within a run of the archive. The confs of the runs
// lack these features.
func warnOfDiffering(con cli.Console, archive *suggest.Archive) {
	differing := archive.DifferingFeatures()
	if len(differing) == 0 {
		return
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(differing)) {
		names = append(names, fmt.Sprintf("%s (in %s)", name, render.Count(differing[name], "run")))
	}
	fmt.Fprintf(con.Err, "warning: the conf lacks features whose values differ between the tasks or instances of a run: %s; "+
		"if the DAG needs them, write the runs as JSON lines with scenario, execution_date and conf\n", strings.Join(names, ", "))
}

// checkDAG returns an error if the archive has a row of another DAG than the campaign. The argument `path` is the path of
// the campaign in the API, and `name` is the file of the archive.
func (f *campaignFlags) checkDAG(ctx context.Context, path, name string, archive *suggest.Archive) error {
	var c api.Campaign
	if err := f.Server().Call(ctx, http.MethodGet, path, nil, &c); err != nil {
		return err
	}
	if err := archive.CheckDAG(c.DagID); err != nil {
		return fmt.Errorf("register runs with campaign %d: %s: %w, which the campaign reproduces; leave out the rows of other DAGs", c.ID, name, err)
	}
	return nil
}

// send registers archived runs with a campaign, in batches, and prints how many. The argument `path` is the path of the
// campaign's runs in the API.
func (f *campaignFlags) send(ctx context.Context, con cli.Console, server *client.Client, path string, runs []campaign.ArchivedRun) error {
	var total api.CampaignRegistered
	for part := range slices.Chunk(runs, campaign.MaxBatch) {
		request := api.CampaignRunsRequest{Runs: make([]api.CampaignArchivedRun, len(part))}
		for i := range part {
			request.Runs[i] = api.CampaignArchivedRun{Scenario: part[i].Scenario, ExecutionDate: part[i].ExecutionDate, Conf: part[i].Conf}
		}
		var registered api.CampaignRegistered
		if err := server.Call(ctx, http.MethodPost, path, request, &registered); err != nil {
			return err
		}
		total.Registered += registered.Registered
		total.Already += registered.Already
	}
	if *f.format == "json" {
		return render.JSON(con.Out, total)
	}
	_, err := fmt.Fprintf(con.Out, "registered %s; registered before: %d\n", render.Count(total.Registered, "run"), total.Already)
	return err
}

// suggest chooses runs of an archive and prints them. With a campaign, it does not choose runs that are already
// registered with the campaign, treats the usage of those runs as known, and registers the chosen runs instead of
// printing them.
func (f *campaignFlags) suggest(ctx context.Context, con cli.Console, args []string) error {
	archive, err := f.archive(ctx, con, args)
	if err != nil {
		return err
	}
	if *f.campaign > 0 && len(args) == 1 {
		if err := f.checkDAG(ctx, fmt.Sprintf("/campaigns/%d", *f.campaign), args[0], archive); err != nil {
			return err
		}
	}
	warnOfDiffering(con, archive)
	registered, err := f.registered(ctx)
	if err != nil {
		return err
	}
	archive, known := archive.Split(registered)
	scored := suggest.Rank(archive.Candidates(), known, *f.count)
	chosen := make([]campaign.ArchivedRun, len(scored))
	for i := range scored {
		chosen[i] = archive.Runs[scored[i].Index]
	}
	if *f.campaign > 0 {
		return f.send(ctx, con, f.Server(), fmt.Sprintf("/campaigns/%d/runs", *f.campaign), chosen)
	}
	if *f.format == "json" {
		return suggest.Write(con.Out, chosen)
	}
	return render.Suggestions(con.Out, chosen, scored)
}

func (f *campaignFlags) registered(ctx context.Context) (runs []campaign.ArchivedRun, err error) {
	if *f.campaign == 0 {
		return nil, nil
	}
	query := url.Values{"limit": {"1000"}}
	for server := f.Server(); ; {
		var page api.CampaignRunPage
		if err := server.Call(ctx, http.MethodGet, fmt.Sprintf("/campaigns/%d/runs?%s", *f.campaign, query.Encode()), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Runs {
			run := &page.Runs[i]
			runs = append(runs, campaign.ArchivedRun{Scenario: run.Scenario, ExecutionDate: run.ExecutionDate, Conf: run.Conf})
		}
		if page.NextCursor == nil {
			return runs, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}

func (f *campaignFlags) archive(ctx context.Context, con cli.Console, args []string) (*suggest.Archive, error) {
	switch {
	case *f.count < 1:
		return nil, cli.UsageErrorf("--count must be at least 1, not %d", *f.count)
	case len(args) == 1 && !f.Given("airflow-url"):
		archive, err := f.readArchive(con, args[0])
		if err != nil || *f.dag == "" {
			return archive, err
		}
		if archive, err = archive.OfDAG(*f.dag); err != nil {
			return nil, fmt.Errorf("choose the runs of --dag: %s: %w", args[0], err)
		}
		return archive, nil
	case len(args) == 0 && f.AirflowURL != "" && *f.dag != "":
		return f.readAirflow(ctx, con)
	}
	return nil, cli.UsageErrorf("use loadaware campaign suggest ARCHIVE.csv, or loadaware campaign suggest --airflow-url URL --dag DAG")
}

func (f *campaignFlags) readArchive(con cli.Console, name string) (*suggest.Archive, error) {
	in := con.In
	if name != "-" {
		opened, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the archive: %w", err)
		}
		defer opened.Close()
		in = opened
	}
	archive, err := suggest.ReadAs(in, *f.layout)
	if err != nil {
		return nil, fmt.Errorf("read the archive %s: %w", name, err)
	}
	return archive, nil
}
