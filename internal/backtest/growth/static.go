package growth

import (
	"time"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/sizing"
)

type grant struct {
	memory     float64 // bytes
	cpu        float64 // cores; 0: unknown
	hasHistory bool    // the task has earlier runs
}

// staticGrants computes static grants with loadaware's own policy of package backtest.
type staticGrants struct {
	policy    backtest.Policy
	request   sizing.Bytes           // static request of every run
	maxGrant  sizing.Bytes           // upper bound of the grants
	endedRuns map[sizing.TaskKey]int // number of ended runs
	clock     time.Time              // start of the next run; the series have no dates, so each run starts when the previous one ends
}

// minNode is the least value of staticGrants.maxGrant in bytes: the memory of a common node.
const minNode = 128e9

// newStaticGrants returns the static grants for a replay of the runs. The upper bound of the grants is 1.0001 times the largest
// peak of `runs`, and at least minNode.
func newStaticGrants(runs []*Run, request sizing.Bytes) (*staticGrants, error) {
	policy, err := backtest.NewPolicy(backtest.Loadaware, backtest.Config{})
	if err != nil {
		return nil, err
	}
	g := &staticGrants{policy: policy, request: request, maxGrant: minNode, endedRuns: map[sizing.TaskKey]int{}, clock: time.Unix(0, 0).UTC()}
	for _, r := range runs {
		g.maxGrant = max(g.maxGrant, sizing.Bytes(r.peak()*1.0001))
	}
	return g, nil
}

// session is the replay of one run with static grants.
type session struct {
	*staticGrants
	question backtest.Question // question of the newest try
	run      *Run
}

func (g *staticGrants) open(r *Run) *session {
	return &session{g, backtest.Question{
		Try:       sizing.TryKey{TaskKey: r.Task, RunID: r.ID, MapIndex: sizing.NoMap, Number: 1},
		StartedAt: g.clock, Static: g.request, Cap: g.maxGrant,
	}, r}
}

func (s *session) first() grant {
	answer := s.policy.Predict(s.question)
	return grant{memory: float64(answer.Limit), cpu: float64(answer.CPU), hasHistory: s.endedRuns[s.run.Task] > 0}
}

func (g *staticGrants) next(key sizing.TaskKey) grant {
	s := g.open(&Run{Task: key})
	return s.first()
}

// afterKill learns that the run was killed at a limit after some seconds, and returns the next limit.
func (s *session) afterKill(limit float64, seconds float64) (float64, error) {
	err := s.policy.Learn(backtest.Outcome{
		Question: s.question, Killed: true, Allocated: sizing.Bytes(limit), Duration: duration(seconds), ReportedAt: s.clock,
	})
	if err != nil {
		return 0, err
	}
	s.question.Above, s.question.Try.Number = sizing.Bytes(limit), s.question.Try.Number+1
	answer := s.policy.Predict(s.question)
	if float64(answer.Limit) <= limit {
		return min(2*limit, float64(s.maxGrant)), nil // the policy gave up: the replay assumes that a person doubles the limit
	}
	return float64(answer.Limit), nil
}

// close learns that the run succeeded with a limit.
func (s *session) close(limit float64) error {
	s.endedRuns[s.run.Task]++
	s.clock = s.clock.Add(duration(s.run.duration()))
	return s.policy.Learn(backtest.Outcome{
		Question: s.question, Allocated: sizing.Bytes(limit), Peak: sizing.Bytes(s.run.peak()), CPUMax: sizing.Cores(maxCores(s.run)),
		Duration: duration(s.run.duration()), ReportedAt: s.clock,
	})
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func maxCores(r *Run) float64 {
	most := 0.0
	for _, c := range r.CPU {
		if c > most { // false for NaN
			most = c
		}
	}
	return most
}
