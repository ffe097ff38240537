package tracking

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Save saves a report with its models, and writes the id of the new experiment to the writer `notes`. It stores
// `parameters` as a JSON object. To preserve the results, Save saves them without a name if the name exists already, and
// without the models if the models are too large for the server.
func Save(ctx context.Context, st Store, notes io.Writer, name string, parameters any, report *experiment.Report, models []store.RunModel) error {
	r := store.Run{Name: name, CreatedAt: time.Now(), Fingerprint: report.Fingerprint}
	for _, part := range []struct {
		into *[]byte
		from any
	}{{&r.Parameters, parameters}, {&r.Rows, report.Rows}, {&r.Report, report}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return fmt.Errorf("save the experiment: %w", err)
		}
		*part.into = text
	}
	id, err := st.Save(ctx, r, models)
	if name != "" && sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(notes, "%v; trying to save the experiment without a name\n", err)
		r.Name = ""
		id, err = st.Save(ctx, r, models)
	}
	if len(models) > 0 && client.IsStatus(err, http.StatusRequestEntityTooLarge) {
		fmt.Fprintln(notes, "the models are too large for the server and are not saved; to save them too, name a database with --database")
		id, err = st.Save(ctx, r, nil)
	}
	if err != nil {
		return fmt.Errorf("save the experiment: %w", err)
	}
	fmt.Fprintf(notes, "saved as experiment %d in %s\n", id, st.Location())
	return nil
}

// CheckCanSave returns an error if the store cannot check the name: the store is unavailable, denies access or stores no
// experiments. If the name exists, CheckCanSave returns no error, and writes to the writer `notes` that the experiment
// will be saved without a name.
func CheckCanSave(ctx context.Context, st Store, notes io.Writer, name string) error {
	err := st.CheckName(ctx, name)
	if sizing.KindOf(err) == sizing.Conflict {
		fmt.Fprintf(notes, "%v; this experiment will be saved without a name\n", err)
		return nil
	}
	return err
}

// Export exports the experiment with its models into dir, in the layout of MLflow's file
// store.
func Export(ctx context.Context, st Store, r *Run, dir string) error {
	models, err := st.Models(ctx, r.ID)
	if err != nil {
		return err
	}
	stored := &experiment.StoredRun{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, Fingerprint: r.Fingerprint,
		Parameters: r.Parameters, Rows: r.Rows, Report: r.Report}
	for _, m := range models {
		stored.Models = append(stored.Models, experiment.StoredModel{Task: m.Task, Family: m.Family, Blob: m.Blob})
	}
	return experiment.ExportMLflow(dir, stored)
}
