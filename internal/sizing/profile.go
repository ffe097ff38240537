package sizing

import "time"

// Group is how much a task matters: what may be saved on it.
type Group string

// The groups, by the usage statistics of the task (GroupOf).
const (
	Light    Group = "light"
	Moderate Group = "moderate"
	Heavy    Group = "heavy"
)

// Profile is what is known of one task.
type Profile struct {
	Task         TaskKey
	Observations int
	Kills        int // OOM-killed tries
	LastSeen     time.Time
	Group        Group
	Memory       Quantiles // bytes, of measured peaks
	Seconds      Quantiles // duration
	LargestPeak  Bytes
	Bins         Bins      // upper edges; none before the first training
	Requested    Resources // the last static request reported
	Schema       Schema
	Policy       Policy
	Champion     *ModelRef // nil: none yet
	Evaluation   []byte    // JSON of the champion's exam; nil without one
	Realised     Realised
	// Ambiguous is set where runs with the same features differ so much that
	// the features cannot tell them apart.
	Ambiguous string
	// Quarantined are the reports that change no answer until another confirms them.
	Quarantined []Quarantined
}

// Quarantined is one report that was stored and is not learned yet.
type Quarantined struct {
	Memory Bytes
	Detail string // why
}

// Quantiles sketch a distribution; zero where nothing was measured.
type Quantiles struct {
	Min, P50, P90, P99, Max float64
}

// Realised compares what was promised of first tries with what happened.
type Realised struct {
	Tries     int     // first tries that carried a promise and have ended
	Killed    int     // those of them that were OOM-killed
	Promised  float64 // the sum of their promised risks
	Low, High float64 // 95 % interval of the realised risk
}

// Promise is what a model promised of one first try, and what came of it.
type Promise struct {
	Version  int   // of the model that answered
	Told     int64 // tries that it had been told of by then
	RunID    string
	MapIndex int
	Granted  Bytes
	Risk     float64 // promised: P(killed)
	Killed   bool
}

// What a task costs at its 99th percentile decides how much may be saved on it.
// Below LightBytes a static request is nearly free; above HeavyBytes, or where
// the peaks spread by HeavySpread, a wrong request is dear.
const (
	LightBytes  = 1 * GiB
	HeavyBytes  = 16 * GiB
	HeavySpread = 4.0
)

// GroupOf sorts a task by its usage statistics. With p99 = 600 MiB it is light;
// with p50 = 2 GiB and p99 = 4 GiB moderate; with p99 = 20 GiB, or with p50 = 1 GiB
// and p99 = 6 GiB, heavy. Without measured peaks it is light.
func GroupOf(memory Quantiles) Group {
	switch {
	case memory.P99 < float64(LightBytes):
		return Light
	case memory.P99 >= float64(HeavyBytes), memory.P99 >= HeavySpread*memory.P50:
		return Heavy
	}
	return Moderate
}
