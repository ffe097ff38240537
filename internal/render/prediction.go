package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Prediction prints a prediction as text.
func Prediction(out io.Writer, p *api.Prediction) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	if p.Memory != nil {
		line("memory", "%s", amount(p.Memory))
	}
	if p.Shadow != nil {
		line("shadow", "%s would have been granted", amount(p.Shadow))
	}
	if p.CPU != nil {
		line("cpu", "%s", p.CPU.Request)
	}
	if p.Duration != nil {
		line("duration", "median %s, 95 %% below %s", seconds(p.Duration.MedianSeconds), seconds(p.Duration.P95Seconds))
	}
	if p.GPUMemory != nil {
		line("gpu", "memory median %s, 95 %% below %s", sizing.Bytes(p.GPUMemory.MedianBytes).Approx(), sizing.Bytes(p.GPUMemory.P95Bytes).Approx())
	}
	if len(p.LadderBytes) > 1 {
		var lifts []string
		for _, b := range p.LadderBytes[1:] {
			lifts = append(lifts, sizing.Bytes(b).String())
		}
		line("lifts", "%s", strings.Join(lifts, ", "))
	}
	if p.Risk.Promised != nil {
		line("risk", "%.2f %% promised, %.2f %% accepted", 100**p.Risk.Promised, 100*p.Risk.Target)
	}
	line("source", "%s; mode %s", p.Source, p.Mode)
	if c := p.Cohort; c != nil {
		profile := ""
		if c.Profile != nil && c.Confidence != nil {
			profile = fmt.Sprintf("; usage profile %d with probability %.2g", *c.Profile, *c.Confidence)
		}
		line("cohort", "%s, %s%s", Count(c.Tasks, "task"), Count(c.Runs, "run"), profile)
	}
	if p.Model != nil {
		line("model", "version %d, learned from %s", p.Model.Version, Count(p.Model.Observations, "run"))
	}
	line("reason", "%s", p.Reason)
	if p.PredictionID != "" {
		line("id", "%s", p.PredictionID)
	}
}

func amount(m *api.Memory) string {
	if m.Request == m.Limit {
		return m.Limit
	}
	return m.Request + ", limit " + m.Limit
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
