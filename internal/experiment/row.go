// Package experiment evaluates binnings, families of classifiers and methods of oversampling on the histories of tasks, and
// compares the grants of the service with the requests.
//
//	trace or store ─▶ datasets ─▶ splits ─▶ (oversampled) ─▶ families ─▶ rows ─▶ tables
//
// The package uses neither HTTP nor SQL. The same history, parameters and seed give the same bytes.
package experiment

// Row is the result of one family on one task, with one binning, method of oversampling, split and seed. A comparison of two
// saved experiments compares their rows. The static cost is the cost if every run of the task gets the top edge.
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
	Optimal      float64   `json:"optimal"`      // share of the static cost that a perfect classifier saves
	TimeOptimal  float64   `json:"time_optimal"` // Optimal with runs weighted by duration
	Estimated    float64   `json:"estimated"`    // optimal · accuracy − u rate
}
