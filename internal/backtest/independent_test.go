package backtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// figure has the results of one policy on one trace, in percent.
type figure struct {
	util   float64 // utilisation
	killed float64 // share of the rows that were killed at least once
}

// independent has the figures of an independent implementation of the baselines on four traces (docs/benchmarks.md).
var independent = map[string]map[string]figure{
	"retail": {
		"static": {10.4, 0}, "max": {14.6, .5}, "krr": {13.5, .2}, "p95": {35.3, 4.8}, "p99": {25.4, 1.1}, "vpa": {37.6, 7.4},
		"tovar": {30.9, 8.4}, "lr-max": {21.6, .6}, "ponder": {35.8, .5}, "cost-aware": {45.3, 10.5}, "cap-2pct": {38.1, 2.1},
	},
	"hst": {
		"static": {5.8, 0}, "max": {14.6, .1}, "krr": {12.7, 0}, "p95": {44.1, 3.3}, "p99": {40.8, 1.1}, "vpa": {44.7, 5.2},
		"tovar": {42.0, 2.5}, "lr-max": {16.0, .1}, "ponder": {16.6, .1}, "cost-aware": {54.7, 8.2}, "cap-2pct": {52.7, 6.6},
	},
	"mgnify": {
		"max": {14.7, .1}, "krr": {14.7, .1}, "p95": {42.7, 1.6}, "p99": {32.4, .3}, "vpa": {34.9, .4},
		"tovar": {36.0, .5}, "lr-max": {14.7, .1}, "ponder": {14.7, .1}, "cost-aware": {45.9, 15.3}, "cap-2pct": {39.7, 4.4},
	},
	"pai": {
		"static": {32.8, 49}, "max": {16.1, 1.7}, "krr": {14.4, 1.3}, "p95": {32.2, 6.3}, "p99": {24.6, 2.3}, "vpa": {36.3, 10.7},
		"tovar": {40.3, 18.4}, "lr-max": {16.3, 1.9}, "ponder": {35.9, 50}, "cost-aware": {35.5, 19.9}, "cap-2pct": {26.2, 2.4},
	},
}

// independentDelayed has the figures of the same implementation on retail with delayed feedback, which exist for three
// baselines only.
var independentDelayed = map[string]figure{"vpa": {37.6, 7.6}, "ponder": {35.8, .5}, "cost-aware": {44.8, 10.4}}

// tolerance returns the allowed difference from the independent figure. The figures of the rules from the literature agree
// except for the rounding on both sides. Those of the reference policies cost-aware and cap-2pct depend on the rows at which
// they choose a model and its margin. Those of cost-aware also depend on a list of quantiles that is known only
// approximately.
func tolerance(policy string) figure {
	switch policy {
	case "cost-aware":
		return figure{1.5, 2}
	case "cap-2pct":
		return figure{.5, .3}
	}
	return figure{.15, .3}
}

func TestBaselinesAgreeWithAnIndependentReplay(t *testing.T) {
	for name, want := range independent {
		requireAgreement(t, historyTrace(t, name), false, want)
	}
	requireAgreement(t, historyTrace(t, "retail"), true, independentDelayed)
}

func requireAgreement(t *testing.T, trace *Trace, delayed bool, want map[string]figure) {
	cfg := Config{Delayed: delayed}
	for policy := range want {
		cfg.Policies = append(cfg.Policies, policy)
	}
	report, err := Run(context.Background(), trace, cfg)
	require.NoError(t, err)
	for _, got := range report.Results {
		near := tolerance(got.Policy)
		assert.InDelta(t, want[got.Policy].util, got.Utilisation, near.util, "%s: utilisation of %s", report.Trace, got.Policy)
		assert.InDelta(t, want[got.Policy].killed, got.Killed, near.killed, "%s: share of killed rows of %s", report.Trace, got.Policy)
	}
}

// historyTrace reads a history that is stored outside the repository. Without it, historyTrace skips the test.
func historyTrace(t *testing.T, name string) *Trace {
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", name+".csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the histories of this test are not in the repository; other tests compare the rules with values computed by hand")
	}
	require.NoError(t, err)
	defer file.Close()
	trace, err := Read(name, file, Selection{})
	require.NoError(t, err)
	return trace
}
