package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// WhatIf prints the result of a replay as text; nothing if the replay has no result yet.
func WhatIf(out io.Writer, w *api.WhatIf) error {
	if w.Current == nil {
		return nil
	}
	fmt.Fprintf(out, "replayed %s, each predicted before it was learned\n\n", Count(w.Current.Rows, "run"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "settings\tutilisation %%\twasted GB·h\tkilled %%\tlifts\tgave up\tpromised %%\trealised %%\n")
	line := func(name string, r *api.WhatIfResult) {
		fmt.Fprintf(table, "%s\t%.1f\t%.4g\t%.2f\t%d\t%d\t%s\t%s\n", name, r.UtilisationPercent, r.WastedGbh, r.KilledPercent, r.Lifts, r.GaveUp,
			percentOrUnknown(r.PromisedPercent), percentOrUnknown(r.RealisedPercent))
	}
	line("current", w.Current)
	for i := range w.Results {
		line(settingsText(&w.Results[i].Settings), &w.Results[i])
	}
	if w.Set != nil {
		fmt.Fprintf(table, "\ngrants of the model for the newest %d tries\tp25\tp50\tp75\tp95\n", w.Set.Runs)
		for _, g := range []struct {
			name      string
			quantiles *api.GrantQuantiles
		}{{"with the reported inputs", &w.Set.Before}, {"with the changed inputs", &w.Set.After}} {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", g.name, sizing.Bytes(g.quantiles.P25Bytes).Approx(), sizing.Bytes(g.quantiles.P50Bytes).Approx(),
				sizing.Bytes(g.quantiles.P75Bytes).Approx(), sizing.Bytes(g.quantiles.P95Bytes).Approx())
		}
	}
	return table.Flush()
}

func percentOrUnknown(v *float64) string {
	if v == nil {
		return "not known"
	}
	return fmt.Sprintf("%.2f", *v)
}

func settingsText(s *api.WhatIfSettings) string {
	var parts []string
	if s.RiskTarget != nil {
		parts = append(parts, fmt.Sprintf("risk %v", *s.RiskTarget))
	}
	if s.FloorBytes != nil {
		parts = append(parts, "floor "+sizing.Bytes(*s.FloorBytes).String())
	}
	if s.CapBytes != nil {
		parts = append(parts, "cap "+sizing.Bytes(*s.CapBytes).String())
	}
	if s.MaxLifts != nil {
		parts = append(parts, fmt.Sprintf("max-lifts %d", *s.MaxLifts))
	}
	if len(s.Bins) > 0 {
		parts = append(parts, Count(len(s.Bins), "bin"))
	}
	return strings.Join(parts, ", ")
}
