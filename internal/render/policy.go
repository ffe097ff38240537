package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// PolicyFields returns the names of the fields of a policy in the order of Policy. Flags of
// loadaware policy set have the same names.
func PolicyFields() []string {
	return []string{"mode", "floor", "cap", "risk-target", "max-lifts", "limit-ratio", "never-above-requested", "cpu-unmanaged", "grid", "bin-edges", "phases"}
}

// Policy prints a policy as text with the names of PolicyFields.
func Policy(w io.Writer, key sizing.TaskKey, p *api.Policy) {
	none := func(text *string) string {
		if text == nil {
			return "none"
		}
		return *text
	}
	edges := "optimised"
	if len(p.BinEdgesBytes) > 0 {
		var all []string
		for _, b := range p.BinEdgesBytes {
			all = append(all, sizing.Bytes(b).String())
		}
		edges = strings.Join(all, ",")
	}
	names := PolicyFields()
	fmt.Fprintf(w, "%s\n", key)
	for i, value := range []string{
		string(p.Mode), none(p.Floor), none(p.Cap), strconv.FormatFloat(p.RiskTarget, 'f', -1, 64), strconv.Itoa(p.MaxLifts),
		strconv.FormatFloat(p.LimitRatio, 'f', -1, 64), strconv.FormatBool(p.NeverAboveRequested), strconv.FormatBool(p.CPUUnmanaged), string(p.Grid), edges, cmp.Or(string(p.Phases), "off"),
	} {
		fmt.Fprintf(w, "  %-21s  %s\n", names[i], value)
	}
}
