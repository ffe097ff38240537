package httpapi

import (
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

func summary(p *sizing.Profile) api.TaskSummary {
	bytes, text := amount(p.LargestPeak)
	return api.TaskSummary{
		Namespace: p.Task.Namespace, DagID: p.Task.DAG, TaskID: p.Task.Task,
		Observations: p.Observations, Kills: p.Kills, LastSeen: moment(p.LastSeen), Group: api.Group(p.Group),
		LargestPeakBytes: bytes, LargestPeak: text, Champion: model(p.Champion),
	}
}

func profile(p *sizing.Profile) api.TaskProfile {
	s := summary(p)
	t := api.TaskProfile{
		Namespace: s.Namespace, DagID: s.DagID, TaskID: s.TaskID, Observations: s.Observations, Kills: s.Kills,
		LastSeen: s.LastSeen, Group: s.Group, LargestPeakBytes: s.LargestPeakBytes, LargestPeak: s.LargestPeak, Champion: s.Champion,
		MemoryBytes: quantiles(p.Memory), DurationSeconds: quantiles(p.Seconds), Requested: resources(p.Requested),
		Features: fields(&p.Schema), Ambiguous: p.Ambiguous != "", Policy: policyAnswer(p.Policy), Exam: p.Evaluation, Risk: record(p),
	}
	for _, edge := range p.Bins {
		t.BinsBytes = append(t.BinsBytes, int64(edge))
	}
	if p.Ambiguous != "" {
		t.Ambiguity = &p.Ambiguous
	}
	for _, q := range p.Quarantined {
		t.Quarantined = append(t.Quarantined, api.Quarantined{MemoryMaxBytes: int64(q.Memory), Detail: q.Detail})
	}
	return t
}

// record sets what was promised beside what happened, both as means.
func record(p *sizing.Profile) api.RiskRecord {
	r := api.RiskRecord{Target: p.Policy.WithDefaults().RiskTarget, Tries: p.Realised.Tries, Killed: p.Realised.Killed}
	if n := float64(p.Realised.Tries); n > 0 {
		promised, realised := p.Realised.Promised/n, float64(p.Realised.Killed)/n
		r.Promised, r.Realised = &promised, &realised
		r.Interval = []float64{p.Realised.Low, p.Realised.High}
	}
	return r
}

func fields(s *sizing.Schema) []api.FeatureField {
	out := make([]api.FeatureField, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = api.FeatureField{Name: f.Name, Kind: api.FeatureFieldKind(f.Kind.String())}
		if f.Kind == sizing.Category {
			n := len(f.Categories)
			out[i].Categories = &n
		}
	}
	return out
}

func quantiles(q sizing.Quantiles) *api.Quantiles {
	if q == (sizing.Quantiles{}) {
		return nil
	}
	return &api.Quantiles{Min: q.Min, P50: q.P50, P90: q.P90, P99: q.P99, Max: q.Max}
}

func resources(r sizing.Resources) *api.Resources {
	if r == (sizing.Resources{}) {
		return nil
	}
	var out api.Resources
	out.MemoryBytes, out.Memory = amount(r.Memory)
	if r.CPU > 0 {
		cores, text := float64(r.CPU), r.CPU.String()
		out.CPUCores, out.CPU = &cores, &text
	}
	return &out
}

// amount writes b both ways; nil where it is not known.
func amount(b sizing.Bytes) (*int64, *string) {
	if b == 0 {
		return nil, nil
	}
	bytes, text := int64(b), b.String()
	return &bytes, &text
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
