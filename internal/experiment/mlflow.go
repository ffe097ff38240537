package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StoredRun is a stored run of an experiment, the input of ExportMLflow.
type StoredRun struct {
	ID          int64
	Name        string // may be empty
	CreatedAt   time.Time
	Fingerprint string // hash of the histories used
	Parameters  []byte // a JSON object, or nil
	Rows        []Row
	Report      []byte // JSON, or nil
	Models      []StoredModel
}

// StoredModel is one model of a stored run.
type StoredModel struct {
	Task, Family string
	Blob         []byte
}

// Title returns the name, or "experiment" and the id if the run has no name.
func (k *StoredRun) Title() string {
	if k.Name != "" {
		return k.Name
	}
	return "experiment " + strconv.FormatInt(k.ID, 10)
}

// mlflowName is the name of the MLflow experiment. All exports share this experiment, so that MLflow can compare settings
// across runs. The id has 18 digits like the ids that MLflow generates.
const (
	mlflowName = "loadaware"
	mlflowID   = "172858292543110050"
)

// ExportMLflow writes a run into dir, a folder in the layout of MLflow's file store
// (class FileStore). MLflow reads it with the tracking URI file:DIR. The run becomes a
// parent run with the parameters, the report and the models. Each setting becomes a
// child run, whose metrics have the seeds as steps. The metric NAME_mean is the mean
// over the seeds. The files are:
//
//	DIR/<experiment>/meta.yaml
//	DIR/<experiment>/<run>/meta.yaml, params/, metrics/, tags/, artifacts/
//
// The ids of the MLflow runs are hashes: a second export of the same stored run replaces the first export and leaves the
// runs of other databases unchanged. An interrupted export may leave a run without meta.yaml,
// which MLflow skips with a warning.
func ExportMLflow(dir string, k *StoredRun) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	home := filepath.Join(dir, mlflowID)
	if err := makeMLflowExperiment(home, k.CreatedAt); err != nil {
		return fmt.Errorf("export to MLflow: %w; name a folder that can be written", err)
	}
	parent, err := k.parent()
	if err != nil {
		return err
	}
	runs := []*mlflowRun{parent}
	groups := Groups(k.Rows)
	for i := range groups {
		runs = append(runs, k.child(parent, &groups[i]))
	}
	for _, run := range runs {
		if err := run.write(home, k.CreatedAt); err != nil {
			return fmt.Errorf("export to MLflow: %w; name a folder that can be written", err)
		}
	}
	return nil
}

func makeMLflowExperiment(home string, at time.Time) error {
	meta := filepath.Join(home, "meta.yaml")
	if _, err := os.Stat(meta); err == nil {
		return nil
	}
	return writeFile(meta, yaml(
		"artifact_location", quoted(fileURI(home)),
		"creation_time", millis(at),
		"experiment_id", quoted(mlflowID),
		"last_update_time", millis(at),
		"lifecycle_stage", "active",
		"name", quoted(mlflowName)))
}

type mlflowRun struct {
	id, name string
	files    map[string]string // contents by path below the folder of the run
}

// newRun returns an MLflow run with the tags that all runs have. `key` must differ between the MLflow runs of one stored run.
func (k *StoredRun) newRun(key, name string) *mlflowRun {
	// Two databases may use the same id; the time and the fingerprint make the hash unique.
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%d\n%s\n%s", k.ID, k.CreatedAt.UnixMicro(), k.Fingerprint, key))
	r := &mlflowRun{id: hex.EncodeToString(sum[:16]), name: name, files: map[string]string{}}
	r.files["tags/mlflow.runName"] = name
	r.files["tags/mlflow.source.name"] = "loadaware experiment"
	r.files["tags/mlflow.source.type"] = "LOCAL"
	r.files["tags/loadaware.experiment"] = k.Title()
	r.files["tags/loadaware.fingerprint"] = k.Fingerprint
	return r
}

func (k *StoredRun) parent() (*mlflowRun, error) {
	r := k.newRun("", k.Title())
	var parameters map[string]json.RawMessage
	if k.Parameters != nil {
		if err := json.Unmarshal(k.Parameters, &parameters); err != nil {
			return nil, fmt.Errorf("decode the parameters of %s: not a JSON object: %w", k.Title(), err)
		}
		r.files["artifacts/parameters.json"] = string(k.Parameters)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) { // if two names map to one key, the last one wins
		r.files["params/"+mlflowKey(name)] = paramText(parameters[name])
	}
	rows, err := json.MarshalIndent(map[string]any{"rows": k.Rows}, "", "  ")
	if err != nil {
		return nil, err
	}
	r.files["artifacts/rows.json"] = string(rows) + "\n"
	if k.Report != nil {
		r.files["artifacts/report.json"] = string(k.Report)
	}
	for i, m := range k.Models {
		r.files[fmt.Sprintf("artifacts/models/%02d-%s-%s.bin", i+1, mlflowKey(m.Task), mlflowKey(m.Family))] = string(m.Blob)
	}
	return r, nil
}

func (k *StoredRun) child(parent *mlflowRun, g *Group) *mlflowRun {
	r := k.newRun(g.String(), g.String())
	r.files["tags/mlflow.parentRunId"] = parent.id
	for name, value := range map[string]string{"task": g.Task, "bins_gb": g.Bins, "family": g.Family, "oversampling": g.Oversampling, "split": g.Split} {
		r.files["params/"+name] = value
	}
	at := millis(k.CreatedAt)
	for _, figure := range Figures() {
		var lines strings.Builder
		for i := range g.Rows {
			fmt.Fprintf(&lines, "%s %s %d\n", at, decimal(figure.Value(&g.Rows[i])), g.Rows[i].Seed)
		}
		r.files["metrics/"+figure.Name] = lines.String()
		r.files["metrics/"+figure.Name+"_mean"] = fmt.Sprintf("%s %s 0\n", at, decimal(g.Mean(figure.Value)))
	}
	return r
}

// write replaces the folder of the run. It writes meta.yaml last, because MLflow ignores a
// folder without this file.
func (r *mlflowRun) write(home string, at time.Time) error {
	dir := filepath.Join(home, r.id)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, sub := range []string{"params", "metrics", "tags", "artifacts"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	for name, text := range r.files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	const finished, local = "3", "4" // RunStatus and SourceType of MLflow
	return writeFile(filepath.Join(dir, "meta.yaml"), yaml(
		"artifact_uri", quoted(fileURI(filepath.Join(dir, "artifacts"))),
		"end_time", millis(at),
		"entry_point_name", "''",
		"experiment_id", quoted(mlflowID),
		"lifecycle_stage", "active",
		"run_id", quoted(r.id),
		"run_name", quoted(r.name),
		"run_uuid", quoted(r.id),
		"source_name", "''",
		"source_type", local,
		"source_version", "''",
		"start_time", millis(at),
		"status", finished,
		"tags", "[]",
		"user_id", quoted(mlflowName)))
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

func yaml(pairs ...string) string {
	var text strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&text, "%s: %s\n", pairs[i], pairs[i+1])
	}
	return text.String()
}

// quoted returns a YAML scalar in double quotes, in which YAML supports all escapes of Go.
func quoted(text string) string { return strconv.QuoteToASCII(text) }

func fileURI(name string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
}

func millis(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func paramText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

var notInKeys = regexp.MustCompile(`^\.|[^A-Za-z0-9_\-. ]`)

// mlflowKey replaces the characters that MLflow or a file system rejects in a name.
func mlflowKey(name string) string { return notInKeys.ReplaceAllString(name, "_") }
