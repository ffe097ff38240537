package experts

// Config holds every constant of the rule, as measured over traces of four kinds
// and synthetic workflows. Its zero value is not usable: see Default.
type Config struct {
	Target     float64 // share of first tries that may be killed
	KillPrice  float64 // of one kill, in mean row costs of the pool
	Unripe     int     // first rows whose errors are not kept: models of a few rows err as grown ones never do
	Chance     float64 // rows' worth of the target that a few kills may be beyond it, by chance
	Window     int     // residuals kept per spread
	Ledger     int     // rows kept for the local spread
	Near       int     // neighbours in predicted level
	Prior      float64 // rows of nominal risk mixed into an expert's kill rate
	Forget     float64 // per row, of costs and kills
	Blend      float64 // how sharply the average prefers the cheapest
	Slack      float64 // times the lowest kill rate that is let in, where the target lets in less
	Young      int     // rows before the experts are compared with the young rule
	ColdPrice  float64 // of one kill, in the young rule
	Reach      float64 // nothing beyond the largest peak · (1 + Reach/√rows) …
	FirstReach float64 // … or · (1 + FirstReach/rows)
	Step       float64 // of the adaptive correction, per row
	Stale      float64 // weight of what was learned before a change, after it
	Rung       float64 // the next rung leaves this share of what the last left
	MinStep    float64 // the next rung is at least this much higher
	PriorRows  float64 // the young rule's prior: degrees of freedom …
	PriorSpan  float64 // … and standard deviation of the log peak
}

// Default is what was measured best. The target is the caller's.
func Default(target float64) Config {
	return Config{
		Target: target, KillPrice: 1, Unripe: 8, Chance: 60, Window: 500, Ledger: 2000, Near: 100, Prior: 60, Forget: 0.9995, Blend: 20, Slack: 2,
		Young: 32, ColdPrice: 8, Reach: 1, FirstReach: 5, Step: 0.001, Stale: 0.3, Rung: 0.12, MinStep: 1.3, PriorRows: 4, PriorSpan: 0.3,
	}
}
