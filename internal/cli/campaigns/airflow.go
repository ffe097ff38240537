package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/campaign/suggest"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/airflow"
)

// airflowRate is in requests per second, as by default in loadaware import airflow.
const airflowRate = 10

// readAirflow reads the ended runs of a DAG in Airflow except reproduced runs. The archive has no usage.
func (f *campaignFlags) readAirflow(ctx context.Context, con cli.Console) (*suggest.Archive, error) {
	source := f.Airflow(airflowRate)
	source.Retrying = con.PrintRetry
	server, err := airflow.Open(ctx, source)
	if errors.Is(err, airflow.ErrUnavailable) {
		return nil, fmt.Errorf("read the runs of %s: %w; check --airflow-url and the network policy", *f.dag, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the runs of %s: %w", *f.dag, err)
	}
	archive := &suggest.Archive{}
	for page, err := range server.Runs(ctx, time.Time{}, []string{*f.dag}) {
		if err != nil {
			return nil, fmt.Errorf("read the runs of %s: %w", *f.dag, err)
		}
		for i := range page.Runs {
			if run := &page.Runs[i]; !sizing.IsReproduction(run.ID) {
				archive.Runs = append(archive.Runs, archivedRun(run))
			}
		}
	}
	return archive, nil
}

func archivedRun(run *airflow.Run) campaign.ArchivedRun {
	archived := campaign.ArchivedRun{Scenario: run.ID, ExecutionDate: run.ExecutionDate().UTC().Truncate(time.Second)}
	if len(run.Conf) > 0 {
		archived.Conf, _ = json.Marshal(run.Conf) // decoded JSON can be encoded
	}
	return archived
}
