package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/testdata/demo"
)

type startup struct {
	*Server
	listeners *httpserver.Server
	store     store.Store
	service   *service.Service
	pages     *dashboard.Dashboard
	log       *slog.Logger
}

// run prints the addresses of the server, imports the demo if it is requested, and prints example requests, even if the
// import has failed.
func (s *startup) run(ctx context.Context) {
	url := s.listeners.URL()
	fmt.Fprintf(s.Out, "loadaware serves at %s\n", url)
	if admin := s.listeners.AdminAddr(); admin != "" {
		fmt.Fprintf(s.Out, "metrics are at http://%s/metrics\n", admin)
	}
	fmt.Fprintf(s.Out, "data folder or database: %s\n", s.Location())
	if s.Demo {
		err := s.importDemo(ctx)
		s.pages.ClearCache()
		if err != nil && ctx.Err() == nil {
			s.log.Error("import or training of the demo history failed; the server continues", "err", err)
		}
	}
	if s.Demo || s.PrintExamples {
		fmt.Fprintf(s.Out, exampleRequests, url, s.pages.Home())
	}
}

// exampleRequests is formatted with the URL of the server and the path of its pages.
const exampleRequests = `
Open %[1]s%[2]s in a browser: how much memory was saved, and why a run got its amount.

Try:
  curl '%[1]s/predict?dag_id=pricing&task_id=predict_demand&product_count=1253&store_count=12&region=emea&execution_date=2020-02-01&sale_start=2020-02-05&sale_end=2020-03-15&memory=350Gi'
  curl %[1]s/predict -H 'Content-Type: application/json' -d '{"dag_id": "pricing", "task_id": "build_features", "features": {"product_count": 400, "store_count": 4, "region": "apac", "execution_date": "2020-02-01", "sale_start": "2020-02-05", "sale_end": "2020-02-25"}, "requested": {"memory": "100Gi"}}'
  curl %[1]s/tasks
  curl %[1]s/tasks/pricing/predict_demand
`

// importDemo imports the demo history, unless the store has a task. One transaction stores all rows of the demo, so the store
// never has only some of them.
func (s *startup) importDemo(ctx context.Context) error {
	existing, err := s.store.Tasks(ctx, "", sizing.TaskKey{}, 1)
	if err != nil || len(existing) > 0 {
		return err
	}
	in, err := file.Open(bytes.NewReader(demo.CSV))
	if err != nil {
		return err
	}
	var observations []sizing.Observation
	tasks := map[sizing.TaskKey]bool{}
	for row, err := range in.All() {
		if err != nil {
			return err
		}
		observations = append(observations, row.Observation)
		tasks[row.Observation.Try.TaskKey] = true
	}
	if _, err := s.service.Observe(ctx, observations); err != nil {
		return err
	}
	for task := range tasks {
		if _, err := s.service.Train(ctx, task); err != nil {
			return fmt.Errorf("train %s: %w", task, err)
		}
	}
	fmt.Fprintf(s.Out, "learned the demo history: %d runs of %d tasks\n", len(observations), len(tasks))
	return nil
}
