// Command whatif compares a what-if with the backtest, at the current settings of the policies and at up to eight
// other settings. A what-if is a replay of the stored history by the service (POST /whatif); the backtest replays a file.
//
//	go run ./scripts/whatif [-within 0.3] [-settings 8] [-rows 0] TRACE.csv.gz
//
// It starts a server with an empty store and without trainings, reports the trace, and requests one
// what-if with all settings. Then it replays the trace in this process with each of the settings and delayed feedback. It
// prints the results of the what-if and of the replay, and the duration of the what-if. The exit code is 1 after an error,
// or if a utilisation or a share of killed runs differs by more than -within percentage points. The trace must have one DAG.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/testcluster"
)

func main() {
	within := flag.Float64("within", 0.3, "largest difference of a utilisation or a share of killed runs, in percentage points")
	count := flag.Int("settings", len(settings), "number of settings to compare besides the current ones, at most eight")
	limit := flag.Int("rows", 0, "first rows to replay, in order of start; all if 0")
	binary := flag.String("binary", "", "path of the loadaware binary; bin/loadaware if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("usage: go run ./scripts/whatif [flags] TRACE.csv.gz")
	if flag.NArg() == 1 {
		err = run(ctx, flag.Arg(0), *binary, settings[:min(len(settings), max(0, *count))], *limit, *within)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "whatif:", err)
		os.Exit(1)
	}
}

type setting struct {
	name   string
	policy sizing.Policy
}

// settings are the settings to compare, besides the current ones. The current ones are the defaults, because the new server
// stores no policy. A backtest without a setting uses the same defaults.
var settings = []setting{
	{"risk 0.001", sizing.Policy{RiskTarget: 0.001}},
	{"risk 0.05", sizing.Policy{RiskTarget: 0.05}},
	{"risk 0.1", sizing.Policy{RiskTarget: 0.1}},
	{"floor 20Gi", sizing.Policy{Floor: 20 * sizing.GiB}},
	{"cap 24Gi", sizing.Policy{Cap: 24 * sizing.GiB}},
	{"risk 0.2, max-lifts 0", sizing.Policy{RiskTarget: 0.2, MaxLifts: new(int)}},
	{"bins 10Gi, 20Gi, 60Gi, 350Gi", sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{10 * sizing.GiB, 20 * sizing.GiB, 60 * sizing.GiB, 350 * sizing.GiB}}},
	{"risk 0.005, floor 2Gi, cap 64Gi", sizing.Policy{RiskTarget: 0.005, Floor: 2 * sizing.GiB, Cap: 64 * sizing.GiB}},
}

// request returns the setting in the format of the body of POST /whatif.
func (s *setting) request() *api.WhatIfSettings {
	p, r := &s.policy, &api.WhatIfSettings{MaxLifts: s.policy.MaxLifts}
	if p.RiskTarget > 0 {
		r.RiskTarget = &p.RiskTarget
	}
	if p.Floor > 0 {
		r.FloorBytes = (*int64)(&p.Floor)
	}
	if p.Cap > 0 {
		r.CapBytes = (*int64)(&p.Cap)
	}
	for _, edge := range p.Edges {
		r.Bins = append(r.Bins, int64(edge))
	}
	return r
}

func run(ctx context.Context, name, binary string, settings []setting, limit int, within float64) (err error) {
	rows, err := readTrace(name, limit)
	if err != nil {
		return err
	}
	cluster, err := testcluster.Open(ctx, testcluster.Config{
		Binary: binary, Env: []string{"LOADAWARE_SEARCH_EVERY=0", "LOADAWARE_LOG_LEVEL=warn", "LOADAWARE_BACKGROUND_TRAINING=false"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	server := client.New(cluster.Replicas[0].URL, "")
	if err := report(ctx, server, rows); err != nil {
		return err
	}
	request := api.WhatIfRequest{Namespace: &rows[0].Try.Namespace, DagID: rows[0].Try.DAG}
	for i := range settings {
		request.Settings = append(request.Settings, settings[i].request())
	}
	began := time.Now()
	answer, err := runWhatIf(ctx, server, &request)
	if err != nil {
		return err
	}
	fmt.Printf("%d runs, %d replays in %s\n\n", *answer.Rows, 1+len(settings), time.Since(began).Round(time.Second))
	return compare(ctx, name, answer, settings, limit, within)
}

// readTrace returns the first `limit` observations of a file in order of start; all if `limit` is 0.
func readTrace(name string, limit int) ([]sizing.Observation, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	reader, err := file.Open(f)
	if err != nil {
		return nil, err
	}
	var rows []sizing.Observation
	for row, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row.Observation)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("read %s: no rows; choose another trace", name)
	}
	slices.SortStableFunc(rows, func(a, b sizing.Observation) int { return a.StartedAt.Compare(b.StartedAt) })
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return rows, nil
}

func report(ctx context.Context, server *client.Client, rows []sizing.Observation) error {
	const batch = 2000
	for len(rows) > 0 {
		n := min(batch, len(rows))
		results, err := server.Record(ctx, rows[:n])
		if err != nil {
			return err
		}
		for i := range results {
			if results[i].Err != nil {
				return fmt.Errorf("report %s: %w", rows[i].Try, results[i].Err)
			}
		}
		rows = rows[n:]
	}
	return nil
}

func runWhatIf(ctx context.Context, server *client.Client, request *api.WhatIfRequest) (answer api.WhatIf, err error) {
	err = server.Call(ctx, http.MethodPost, "/whatif", request, &answer)
	for err == nil && answer.State == api.WhatIfStateRunning {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
		id := answer.ID
		answer = api.WhatIf{}
		err = server.Call(ctx, http.MethodGet, "/whatif/"+id, nil, &answer)
	}
	if err == nil && answer.Error != nil {
		err = errors.New(*answer.Error)
	}
	return answer, err
}

// compare replays the trace and prints its results beside those of the what-if. It returns an error if a utilisation or a share
// of killed runs differs by more than `within` percentage points.
func compare(ctx context.Context, name string, answer api.WhatIf, settings []setting, limit int, within float64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	trace, err := backtest.Read(filepath.Base(name), f, backtest.Selection{Limit: limit})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "settings\tutilisation %, what-if\tbacktest\tkilled %, what-if\tbacktest\tlifts, what-if\tbacktest\tgave up, what-if\tbacktest")
	worst := 0.0
	for i, s := range append([]setting{{name: "current"}}, settings...) {
		stored := answer.Current
		if i > 0 {
			stored = &answer.Results[i-1]
		}
		replayed, err := backtest.Run(ctx, trace, backtest.Config{Policies: []string{backtest.Loadaware}, Delayed: true, Settings: s.policy})
		if err != nil {
			return err
		}
		backtested := &replayed.Results[0].Figures
		worst = max(worst, math.Abs(stored.UtilisationPercent-backtested.Utilisation), math.Abs(stored.KilledPercent-backtested.Killed))
		fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%d\t%d\t%d\n", s.name, stored.UtilisationPercent, backtested.Utilisation, stored.KilledPercent, backtested.Killed,
			stored.Lifts, backtested.Attempts-backtested.Rows, stored.GaveUp, backtested.GaveUp)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("\nlargest difference: %.3f percentage points\n", worst)
	if !(worst <= within) { // also true if worst is NaN
		return fmt.Errorf("the what-if and the backtest differ by %.3f percentage points, more than %v", worst, within)
	}
	return nil
}
