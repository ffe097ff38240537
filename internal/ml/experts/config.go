// Package experts chooses the safety margin above a predicted peak. It uses prediction
// with expert advice (Cesa-Bianchi & Lugosi 2006) over margins from quantiles of
// out-of-sample residuals, as in split conformal prediction (Vovk et al. 2005).
//
// Several models predict the log of a peak. Each model has several residual
// distributions, and each distribution is used with several prices of a kill. A triple of
// model, distribution and price is an expert.
//
//	row ─▶ Point (predictions) ─▶ 8 models × 5 distributions × 11 prices = 440 experts
//	                                          │ a row charges every expert (see Learn):
//	observed peak ────────────────────────────┤ a killed try costs its whole amount, a successful one its unused part
//	                                          ▼
//	Picks: the experts whose kill rate is within the allowed rate (see selectExperts),
//	       weighted by how close their cost is to the lowest cost
//
// The selection of experts assumes no distribution of the errors, because experts are compared by their out-of-sample cost.
//
// The package does not read the clock, does no I/O and uses no randomness. A row is one measured
// run of a task. The cost of a row is its peak multiplied by its duration in seconds.
package experts

// Config holds the constants of the method. They were tuned on traces of four kinds and on
// synthetic workflows. The zero value is not usable: see Default.
type Config struct {
	Target           float64 // share of first tries that may be killed
	KillPrice        float64 // price of one kill when experts, or margins of Repeats, are compared, in mean row costs of the pool; each expert chooses its own risk with one of `prices`
	BurnInRows       int     // burn-in: the residuals of the first rows are not stored, because models of few rows have unusual errors
	ChanceRows       float64 // number of rows to add when the allowed number of kills is computed, because a few kills may be chance
	WindowRows       int     // number of the newest rows in each residual distribution except nearestRows
	StoredRows       int     // number of rows in the residual store, from which the nearest rows are taken
	NearRows         int     // number of rows nearest in predicted level
	NominalPriorRows float64 // the kill rate of an expert is shrunk to its nominal risk (the mean of the risks that it chose), which counts as the rate of this many rows
	Decay            float64 // factor per row on the earlier costs and kills of the experts
	CostPreference   float64 // the weight of an expert is proportional to e^−(CostPreference · relative excess of its cost over the lowest)
	KillRateSlack    float64 // selectExperts accepts kill rates above the target up to this multiple of the lowest kill rate of an expert
	ColdStartRows    int     // number of independent rows (without those of LearnDependent) from which on experts are selected; a task with fewer is in its cold start
	ColdStartPrice   float64 // price of one kill in the cold start; its unit is the geometric mean of the row's predicted cost and the pool's mean row cost
	BlendRows        float64 // number of independent rows at which the blend has the same prior odds as the cold-start rule; see hedgeShare
	Reach            float64 // maxAmount is (1 + Reach/√n) times the largest peak, or times the prediction if that is larger; n is the number of independent rows since the fourth-newest record
	FirstReach       float64 // like Reach, with the factor (1 + FirstReach/n); the larger factor counts
	Step             float64 // step per row of the adaptive correction of the kill rate
	AimedShare       float64 // share of the target that the adaptive correction aims at: the kill rate varies by chance, so with a share of 1 it would be above the target in about half of all tasks
	StepRows         float64 // while ChargedRows, the decayed number of rows, is above StepRows, the step is inversely proportional to ChargedRows
	ChangeDiscount   float64 // factor on earlier costs and kills after a change of the task
	RungRiskShare    float64 // largest ratio of the risk of the second rung to that of the first rung when updateLosses charges the experts; see secondRung
	MinStep          float64 // smallest ratio of the first retry to the killed amount; only the ceiling may make the retry smaller
	PriorRows        float64 // number of rows that the cold-start prior counts as
	PriorDeviation   float64 // standard deviation of the log peak in the cold-start prior
}

// Default returns the constants with the best measured result. target is Config.Target.
func Default(target float64) Config {
	return Config{
		Target: target, KillPrice: 1, BurnInRows: 8, ChanceRows: 60, WindowRows: 500, StoredRows: 2000, NearRows: 100, NominalPriorRows: 60, Decay: 0.9995, CostPreference: 20, KillRateSlack: 2,
		ColdStartRows: 32, ColdStartPrice: 8, BlendRows: 256, Reach: 1, FirstReach: 5, Step: 0.001, StepRows: 1000, AimedShare: 0.93, ChangeDiscount: 0.3, RungRiskShare: 0.12, MinStep: 1.3, PriorRows: 4, PriorDeviation: 0.3,
	}
}
