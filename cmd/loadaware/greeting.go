package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/testdata/demo"
)

// greeting tells a person where the server is and what to try.
type greeting struct {
	con     console
	cfg     *config
	doors   *doors
	demo    bool
	store   store.Store
	service *service.Service
	log     *slog.Logger
}

// say prints the address at once, and what to try after the demo is learned.
func (g *greeting) say(ctx context.Context) {
	url := g.doors.url()
	fmt.Fprintf(g.con.out, "loadaware serves at %s\n", url)
	if g.doors.admin != nil {
		fmt.Fprintf(g.con.out, "metrics are at http://%s/metrics\n", g.doors.adminAddr())
	}
	fmt.Fprintf(g.con.out, "the data lie in %s\n", g.cfg.where())
	if g.demo {
		if err := g.learnDemo(ctx); err != nil && ctx.Err() == nil {
			g.log.Error("the demo history could not be learned; the server goes on without", "err", err)
		}
	}
	if g.demo || isTerminal(g.con.out) {
		fmt.Fprintf(g.con.out, tries, url)
	}
}

const tries = `
Try:
  curl '%[1]s/predict?dag_id=pricing&task_id=predict_demand&product_count=1253&store_count=12&region=emea&execution_date=2020-02-01&sale_start=2020-02-05&sale_end=2020-03-15&memory=350Gi'
  curl %[1]s/predict -H 'Content-Type: application/json' -d '{"dag_id": "pricing", "task_id": "build_features", "features": {"product_count": 400, "store_count": 4, "region": "apac", "execution_date": "2020-02-01", "sale_start": "2020-02-05", "sale_end": "2020-02-25"}, "requested": {"memory": "100Gi"}}'
  curl %[1]s/tasks
  curl %[1]s/tasks/pricing/predict_demand
`

// learnDemo fills a store that holds no task. The rows are recorded in one call,
// and so in one commit: a store with some of them does not come about.
func (g *greeting) learnDemo(ctx context.Context) error {
	known, err := g.store.Tasks(ctx, "", sizing.TaskKey{}, 1)
	if err != nil || len(known) > 0 {
		return err
	}
	in, err := file.Open(bytes.NewReader(demo.CSV))
	if err != nil {
		return err
	}
	var told []sizing.Observation
	tasks := map[sizing.TaskKey]bool{}
	for row, err := range in.All() {
		if err != nil {
			return err
		}
		told = append(told, row.Observation)
		tasks[row.Observation.Try.TaskKey] = true
	}
	if _, err := g.service.Observe(ctx, told); err != nil {
		return err
	}
	for task := range tasks {
		if _, err := g.service.Train(ctx, task); err != nil {
			return fmt.Errorf("train %s: %w", task, err)
		}
	}
	fmt.Fprintf(g.con.out, "learned the demo history: %d runs of %d tasks\n", len(told), len(tasks))
	return nil
}
