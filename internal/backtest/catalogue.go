package backtest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Own is the name of loadaware's own policy.
const Own = "loadaware"

// greedySeed makes greedy bucketing draw the same buckets in every replay.
const greedySeed = 1

// namedPolicy is one entry of the catalogue.
type namedPolicy struct {
	name  string
	fresh func() Policy
}

// catalogue lists every policy in report order.
func catalogue() []namedPolicy {
	same := func(name string, fresh func() rule) namedPolicy {
		return namedPolicy{name, func() Policy { return newBaseline(func(int) rule { return fresh() }) }}
	}
	return []namedPolicy{
		{Own, func() Policy { return newOwn() }},
		same("static", func() rule { return static{} }),
		same("max", func() rule { return &largest{scale: 1} }),
		same("krr", func() rule { return &largest{scale: 1.15} }),
		same("p95", func() rule { return &percentile{share: .95} }),
		same("p99", func() rule { return &percentile{share: .99} }),
		same("vpa", func() rule { return &vpa{} }),
		same("tovar", func() rule { return &tovar{} }),
		same("lr-std", func() rule { return &regression{} }),
		same("lr-max", func() rule { return &regression{byMax: true} }),
		same("ponder", func() rule { return &ponder{} }),
		{"greedy", func() Policy {
			return newBaseline(func(task int) rule {
				return &greedy{dice: rand.New(rand.NewPCG(greedySeed, uint64(task)))}
			})
		}},
		same("cost-aware", func() rule { return costAware() }),
		same("cap-2pct", func() rule { return capped() }),
	}
}

// Policies returns the names of all policies in report order.
func Policies() []string {
	var names []string
	for _, n := range catalogue() {
		names = append(names, n.name)
	}
	return names
}

func newPolicy(name string) (Policy, error) {
	all := catalogue()
	at := slices.IndexFunc(all, func(n namedPolicy) bool { return n.name == name })
	if at < 0 {
		return nil, sizing.Errorf(sizing.Invalid, "policy %q: unknown; choose among %s, or all", name, strings.Join(Policies(), ", "))
	}
	return all[at].fresh(), nil
}
