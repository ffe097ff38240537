package backtest

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The names of loadaware's own policy with and without cohorts. Only these policies use Config.Settings.
const (
	Loadaware  = "loadaware"
	OwnHistory = "own-history"
)

const greedySeed = 1

type namedPolicy struct {
	name string
	new  func(Config) Policy // the Policy has learned nothing
}

// catalogue lists the policies that a replay compares by default, in report order.
func catalogue() []namedPolicy {
	same := func(name string, newRule func() rule) namedPolicy { // the rule does not depend on the task
		return namedPolicy{name, func(Config) Policy { return newBaseline(func(int) rule { return newRule() }) }}
	}
	return []namedPolicy{
		{Loadaware, func(c Config) Policy { return newLoadawarePolicy(c) }},
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
		{"greedy", func(Config) Policy {
			return newBaseline(func(task int) rule {
				return &greedy{rng: rand.New(rand.NewPCG(greedySeed, uint64(task)))}
			})
		}},
		same("cost-aware", func() rule { return costAware() }),
		same("cap-2pct", func() rule { return capped() }),
		{"namespace-p97", func(Config) Policy { return newUnseen(func() rule { return &percentile{share: .97} }) }},
		{"nearest-task", func(Config) Policy { return newUnseen(func() rule { return &nearest{} }) }},
	}
}

// onDemand lists the policies that a replay runs only if Config.Policies names them, because they are slow. They show
// how much is gained by cohorts: own-history is loadaware's own policy without cohorts, and usage-profiles sizes tasks
// without history by usage profiles alone.
func onDemand() []namedPolicy {
	return []namedPolicy{
		{OwnHistory, func(c Config) Policy {
			p := newLoadawarePolicy(c)
			p.noCohorts = true
			return p
		}},
		{"usage-profiles", func(Config) Policy { return newUnseen(func() rule { return &profileMixture{} }) }},
	}
}

// Policies returns the names of all policies: those of DefaultPolicies, then those of onDemand.
func Policies() []string { return namesOf(append(catalogue(), onDemand()...)) }

// DefaultPolicies returns the names of the policies that are replayed if Config.Policies is empty, in report order.
func DefaultPolicies() []string { return namesOf(catalogue()) }

func namesOf(policies []namedPolicy) []string {
	names := make([]string, len(policies))
	for i, n := range policies {
		names[i] = n.name
	}
	return names
}

// NewPolicy returns a policy that has learned nothing. An unknown name is an error of kind sizing.Invalid.
func NewPolicy(name string, cfg Config) (Policy, error) { return newPolicy(name, cfg.withDefaults()) }

func newPolicy(name string, cfg Config) (Policy, error) {
	all := append(catalogue(), onDemand()...)
	at := slices.IndexFunc(all, func(n namedPolicy) bool { return n.name == name })
	if at < 0 {
		return nil, sizing.Errorf(sizing.Invalid, "policy %q: unknown; choose among %s, or all", name, strings.Join(Policies(), ", "))
	}
	return all[at].new(cfg), nil
}
