package sizing

import (
	"math"
	"time"
)

// Group classifies a task by its size, which determines the possible savings.
type Group string

// The groups. Package groups selects the group of a task by clusters of the tasks of its namespace or, if the namespace has
// few tasks or no distinct clusters, by GroupOf.
const (
	Light    Group = "light"
	Moderate Group = "moderate"
	Heavy    Group = "heavy"
)

// Profile summarises one task.
type Profile struct {
	Task         TaskKey
	Observations int
	Kills        int // OOM-killed tries, without those of reproduced runs
	LastSeen     time.Time
	Group        Group
	Memory       Quantiles // measured peaks of successes, or else their sampled peaks, in bytes
	Seconds      Quantiles // durations of successes, in seconds
	LargestPeak  Bytes
	Bins         Bins      // upper edges in the model that answers; empty before the first training
	Requested    Resources // the last static request reported
	Schema       Schema
	Policy       Policy
	Champion     *ModelRef // nil before the first training
	Evaluation   []byte    // JSON of the champion's evaluation; nil without one
	Realised     RealisedRisk
	// Ambiguous describes runs with equal features and very different peaks, which no
	// model can distinguish; empty if there are none.
	Ambiguous string
	// Quarantined lists the reports that change no predicted peak until another report confirms them or later peaks make them
	// plausible. There is one exception: if the run of a quarantined kill was killed with less memory before, the kill raises
	// the grants of runs with the same features at once. Some reports are never confirmed, such as those with a peak above
	// 64Ti; see taskmodel.Model.CanBeConfirmed.
	Quarantined []QuarantinedReport
}

// QuarantinedReport is one report that is stored, but whose peak is not learned.
type QuarantinedReport struct {
	Memory Bytes
	Detail string // the reason
}

// Quantiles summarises a distribution. Zero means that nothing was measured.
type Quantiles struct {
	Min, P50, P90, P99, Max float64
}

// AtMost returns the quantiles, with `most` in place of each larger one.
func (q Quantiles) AtMost(most float64) Quantiles {
	return Quantiles{min(q.Min, most), min(q.P50, most), min(q.P90, most), min(q.P99, most), min(q.Max, most)}
}

// AtLeast returns the quantiles, with `least` in place of each smaller one.
func (q Quantiles) AtLeast(least float64) Quantiles {
	return Quantiles{max(q.Min, least), max(q.P50, least), max(q.P90, least), max(q.P99, least), max(q.Max, least)}
}

// RealisedRisk compares the promised risks of first tries with their outcomes.
type RealisedRisk struct {
	Tries     int     // number of ended first tries with a promised risk
	Killed    int     // number of these tries that were OOM-killed
	Promised  float64 // sum of their promised risks
	Low, High float64 // 95 % interval of the probability of a kill, 0 to 1
}

// Promise is the promised risk of one first try, with its outcome.
type Promise struct {
	Version      int   // version of the model that answered
	GuardVersion int64 // Guard.Version of the answer
	RunID        string
	MapIndex     int
	Granted      Bytes
	Risk         float64 // promised P(killed)
	Killed       bool
}

// The bounds of the groups. If the 99th percentile (P99) of the peaks is below LightBytes, a wrong static
// request costs almost nothing. If P99 is at least HeavyBytes, or if P99 / P50 is at least HeavySpread, a wrong
// request is expensive.
const (
	LightBytes  = 1 * GiB
	HeavyBytes  = 16 * GiB
	HeavySpread = 4.0
)

// GroupOf returns the group of a task with these peaks. With p99 = 600 MiB it is light;
// with p50 = 2 GiB and p99 = 4 GiB moderate; with p99 = 20 GiB, or with p50 = 1 GiB
// and p99 = 6 GiB, heavy. Without known peaks it is light.
func GroupOf(memory Quantiles) Group {
	switch {
	case memory.P99 < float64(LightBytes):
		return Light
	case memory.P99 >= float64(HeavyBytes), memory.P99 >= HeavySpread*memory.P50:
		return Heavy
	}
	return Moderate
}

// WilsonInterval returns the 95 % score interval (Wilson 1927) of the proportion k / n.
// Its coverage is correct for proportions near zero, too: 0 of 100 gives 0 to 3.7 %, 3 of 100 gives
// 1.0 to 8.5 %. n = 0 gives 0 to 1.
func WilsonInterval(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959964 // 97.5 % quantile of the normal distribution
	share, count := float64(k)/float64(n), float64(n)
	centre := share + z*z/(2*count)
	halfWidth := z * math.Sqrt(share*(1-share)/count+z*z/(4*count*count))
	scale := 1 + z*z/count
	return max(0, (centre-halfWidth)/scale), min(1, (centre+halfWidth)/scale)
}
