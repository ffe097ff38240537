// Package experiment evaluates binnings, families and oversampling on a task's history
// and compares the resulting grants.
//
//	trace or store ─▶ datasets ─▶ splits ─▶ (oversampled) ─▶ families ─▶ rows ─▶ tables
//
// It depends on sizing and taskmodel, but not on HTTP or SQL. The same history, parameters
// and seed give the same bytes.
package experiment

// Row is the result of one family on one task, binning and split. The JSON output
// contains rows, and comparisons of stored runs use them.
type Row struct {
	Task         string    `json:"task"`
	BinsGB       []float64 `json:"bins_gb"` // upper edges, GB = 1e9 bytes
	Family       string    `json:"family"`
	Oversampling string    `json:"oversampling"` // none, weights, random, smote
	Split        string    `json:"split"`        // stratified, time
	Seed         uint64    `json:"seed"`
	Accuracy     float64   `json:"accuracy"`     // share, 0 … 1
	UScore       float64   `json:"u_score"`      // 100 · (over + penalty · under) / total
	URate        float64   `json:"u_rate"`       // share of under-estimates, 0 … 1
	Optimal      float64   `json:"optimal"`      // share of the static bill that perfect bins save
	TimeOptimal  float64   `json:"time_optimal"` // … weighted by durations
	Estimated    float64   `json:"estimated"`    // optimal · accuracy − u rate
}
