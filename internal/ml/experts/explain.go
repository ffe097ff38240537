package experts

// Blend holds the weight of each prediction in the expected log peak of an answer, to which the
// safety margins are added. The weights sum to 1. It is not the amount that docs/glossary.md calls the blend.
type Blend struct {
	Model     [ModelCount]float64 // weights of the models, as in Point.Level
	ColdStart float64             // weight of Point.ColdStart
}

// Blend returns the weights of the models and of the cold-start rule in the answer to a row
// at a target kill rate, as if no margin of Repeats answered. The weight of a model is the sum over the selected experts
// that use it.
func (x *Experts) Blend(p *Point, target float64, s *Scratch) (blend Blend) {
	share := x.coldStartShare(p)
	switch {
	case p.ColdStart != nil:
		blend.ColdStart = share
	case share > 0:
		model, _, _ := x.studentT(p) // without Point.ColdStart this model replaces the cold-start rule
		blend.Model[model] = share
	}
	if share == 1 {
		return blend
	}
	picks := x.picksFor(target, s)
	amount := x.meanAmount(p, picks, s).amount
	best := x.bestModel()
	isRaised := x.isTooLow(amount, p, best) // see expertAmount
	for _, pick := range picks {
		model := ModelIndex(pick.Expert)
		if isRaised && p.Level[model] < p.Level[best] {
			model = best
		}
		blend.Model[model] += (1 - share) * pick.Weight
	}
	return blend
}

// AmountWithoutPoolAndMinimum returns the amount of Answer without the pool's correction and without
// the row's MinAmount. It does not change x.
func (x *Experts) AmountWithoutPoolAndMinimum(p *Point, target float64, s *Scratch) float64 {
	alone, free := *x, *p
	alone.Factor, free.MinAmount = 1, 0
	return alone.combinedAmount(&free, target, s).amount
}

// AmountWithoutMinimum returns the amount of Answer without the row's MinAmount.
func (x *Experts) AmountWithoutMinimum(p *Point, target float64, s *Scratch) float64 {
	free := *p
	free.MinAmount = 0
	return x.combinedAmount(&free, target, s).amount
}

// ModelIndex returns the model of an expert, as an index of Point.Level.
func ModelIndex(expert int) int { return expert / len(prices) / distributionCount }

// ModelOf returns the name of the model of an expert.
func ModelOf(expert int) string { return ModelNames[ModelIndex(expert)] }
