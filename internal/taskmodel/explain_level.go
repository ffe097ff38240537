package taskmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/sizing"
)

// attribution splits the level of an answer into a base and the Shapley values of the features. The level is the weighted
// mean of the models' predicted log peaks. The weight of a model is the sum of the weights of its experts in the answer.
// The line is a ridge regression of the log peak. The values for each model are:
//
//	combinations      an effect needs all features of the combination, so these have equal Shapley values
//	trees             exact, path-dependent (gbt.Regressor.ExplainPlayers)
//	line              exact over all subsets of up to maxExactPlayers players; the column of an unknown player has its
//	                  mean; see explainSum
//	linear            (experts.Plain, the regression of the peak itself) computed as for the line
//	identical runs    one term, because the mean of identical runs depends on all features together
//	median            only a base
//	stack             the values of the models that the stack combines, and the terms recent and clipped
//
// A player is a feature, or a pair of dates or numbers (encoder.Pairs), with all of its columns. All
// values are in log bytes.
type attribution struct {
	base      float64
	phi       []float64 // by player: first the fields of the schema, then the pairs
	identical float64   // effect of identical runs
	recent    float64   // effect of the models' recent errors
	clipped   float64   // effect of the bound that keeps the stack near the known peaks
}

// explainLevel returns the attribution of the level without the cold-start lines (see explainMixture). The inputs in `cells`
// must be within their ranges. `edge` holds the models' predictions for these cells.
func (m *Model) explainLevel(cells []sizing.Value, edge *experts.Point, weights *[experts.ModelCount]float64, b *buffers) attribution {
	a := attribution{}
	o := m.Models
	players := len(m.Schema.Fields)
	if o.Enc != nil {
		players = max(players, len(o.Enc.Columns)) + len(o.Enc.Pairs)
	}
	a.phi = make([]float64, players)
	median := o.Recent.Median()
	if o.ridges == nil {
		for _, weight := range weights {
			a.base += weight * median
		}
		return a
	}
	linePlayers, treePlayers := m.columnPlayers(cells)
	b.line, b.tree = o.Enc.encode(cells, b.line[:0], b.tree[:0])

	line, trees, lineTrees := weights[experts.Line], weights[experts.Trees], weights[experts.LineTrees]+weights[experts.Same]+weights[experts.Fresh]
	stack := weights[experts.Stack]
	if edge.Imputed { // the stack corrected the prediction for each donor row separately, so it is not split further
		lineTrees += stack
	} else {
		beta, level := o.Stack.Beta, edge.Level[experts.LineTrees]
		line, trees, lineTrees = line+stack*beta[0], trees+stack*beta[1], lineTrees+stack*(1-beta[0]-beta[1])
		a.identical = (weights[experts.Same]+stack*beta[2])*(edge.Level[experts.Same]-level) + (weights[experts.Fresh]+stack*beta[3])*(edge.Level[experts.Fresh]-level)
		a.recent = stack * (beta[4]*o.Drift + beta[5]*o.Trend)
		unclipped := level + beta[0]*(edge.Level[experts.Line]-level) + beta[1]*(edge.Level[experts.Trees]-level) +
			beta[2]*(edge.Level[experts.Same]-level) + beta[3]*(edge.Level[experts.Fresh]-level) + beta[4]*o.Drift + beta[5]*o.Trend
		a.clipped += stack * (edge.Level[experts.Stack] - unclipped)
	}
	a.base += weights[experts.Median] * median
	if o.Trees == nil {
		line, trees = line+trees, 0
	}
	phi := make([]float64, players)
	add := func(weight, expected float64) {
		a.base += weight * expected
		for i, v := range phi {
			a.phi[i] += weight * v
		}
	}
	if trees != 0 {
		add(trees, o.Trees.ExplainPlayers(b.tree, treePlayers, phi))
	}
	if lineTrees != 0 && o.Trees != nil {
		add(lineTrees, o.Resid.ExplainPlayers(b.tree, treePlayers, phi))
		o.Combinations.split(lineTrees*o.Combinations.effect(o.Enc.Columns, cells), func(j int, share float64) { a.phi[j] += share })
	}
	add(line+lineTrees, explainSum(o.lineRidge(), o.levelOf, b.line, linePlayers, phi))
	if weight := weights[experts.Plain]; weight != 0 {
		add(weight, explainSum(o.ridges[peak], o.plainLevel, b.line, linePlayers, phi))
	}
	effect, j := o.newEffect(cells)
	effect *= line + trees + lineTrees + weights[experts.Plain]
	if j >= 0 {
		a.phi[j] += effect
	} else {
		o.Combinations.split(effect, func(j int, share float64) { a.phi[j] += share })
	}
	return a
}

// columnPlayers returns the player of each column of the line and of the trees. The player is −1, which means unknown, for
// the columns of a rarely missing feature that the row lacks, because the models have not learned the effect of its absence.
func (m *Model) columnPlayers(cells []sizing.Value) (line, tree []int) {
	e := m.Models.Enc
	known := func(j int) bool { return !e.lacksFeature(j, cells) }
	for j := range e.Columns {
		player := j
		if !known(j) {
			player = -1
		}
		inLine, inTree := e.Columns[j].widths()
		line, tree = append(line, slices.Repeat([]int{player}, inLine)...), append(tree, slices.Repeat([]int{player}, inTree)...)
	}
	first := max(len(m.Schema.Fields), len(e.Columns))
	for k, pair := range e.Pairs {
		player := first + k
		if !known(pair[0]) || !known(pair[1]) {
			player = -1
		}
		line, tree = append(line, player, player), append(tree, player)
	}
	return gather(line, 0, e.KeepLine), gather(tree, 0, e.KeepTree)
}

// maxExactPlayers limits the number of subsets in explainSum to 2^12 = 4,096.
const maxExactPlayers = 12

// explainSum writes the Shapley values of level(ridge.Predict(x)) to phi, in log bytes, and returns the level at the
// means of the columns. The Shapley values of a function of a sum have no closed form, so explainSum enumerates the
// subsets of the players. If there are more than maxExactPlayers players, those with the smallest contributions to the sum
// form one player, whose value is then divided among them in proportion to their contributions.
func explainSum(ridge *linear.Ridge, level func(float64) float64, x []float64, players []int, phi []float64) (expected float64) {
	clear(phi)
	at := ridge.Explain(x, players, phi)
	var active []int
	for i, v := range phi {
		if v != 0 {
			active = append(active, i)
		}
	}
	slices.SortStableFunc(active, func(i, j int) int { return cmp.Compare(math.Abs(phi[j]), math.Abs(phi[i])) })
	var joined []int
	if len(active) > maxExactPlayers {
		active, joined = active[:maxExactPlayers-1], active[maxExactPlayers-1:]
	}
	sums := make([]float64, 0, len(active)+1)
	for _, i := range active {
		sums = append(sums, phi[i])
	}
	rest, size := 0.0, 0.0
	for _, i := range joined {
		rest, size = rest+phi[i], size+math.Abs(phi[i])
	}
	if len(joined) > 0 {
		sums = append(sums, rest)
	}
	values := subsetShapley(sums, func(sum float64) float64 { return level(at + sum) })
	for k, i := range active {
		phi[i] = values[k]
	}
	for _, i := range joined {
		if share := math.Abs(phi[i]) / size; rest != 0 {
			phi[i] = values[len(active)] * phi[i] / rest
		} else {
			phi[i] = values[len(active)] * share
		}
	}
	return level(at)
}

// subsetShapley returns the Shapley values of the players, computed by definition from all subsets. The worth of a subset
// is value(s), where s is the sum of the contributions of its players.
func subsetShapley(contributions []float64, value func(sum float64) float64) []float64 {
	n := len(contributions)
	phi := make([]float64, n)
	if n == 0 {
		return phi
	}
	weight := make([]float64, n) // by size of the subset: size!·(n−1−size)!/n!
	weight[0] = 1 / float64(n)
	for s := 1; s < n; s++ {
		weight[s] = weight[s-1] * float64(s) / float64(n-s)
	}
	total, size, values := make([]float64, 1<<n), make([]int, 1<<n), make([]float64, 1<<n)
	values[0] = value(0)
	for set := 1; set < 1<<n; set++ {
		lowest := set & -set
		i := 0
		for lowest>>i > 1 {
			i++
		}
		total[set], size[set] = total[set^lowest]+contributions[i], size[set^lowest]+1
		values[set] = value(total[set])
	}
	for i := range contributions {
		for set := range values {
			if set>>i&1 == 0 {
				phi[i] += weight[size[set]] * (values[set|1<<i] - values[set])
			}
		}
	}
	return phi
}

// explainMixture adds to the attribution the part of the cold-start mixture that does not come from point models: the
// features get the effects of the mixture's lines, and the base gets the rest. `weight` is the weight of the mixture in the
// level.
func (m *Model) explainMixture(mix *bayes.Mixture, a *attribution, weight float64, b *buffers) {
	if mix == nil || weight == 0 {
		return
	}
	var numbers []int
	for j := range m.Schema.Fields {
		if m.Schema.Fields[j].Kind == sizing.Number && len(numbers) < coldStartNumbers {
			numbers = append(numbers, j)
		}
	}
	phi := make([]float64, len(a.phi))
	a.base += weight * m.coldStartFor(b).Explain(b.numbers, mix, numbers, phi)
	for i, v := range phi {
		a.phi[i] += weight * v
	}
}

// addColdStartWeights adds to `weights` the weights that the point models have in the cold-start mixture.
// `weight` is the weight of the mixture in the level.
func addColdStartWeights(p *experts.Point, weight float64, weights *[experts.ModelCount]float64) {
	if p.ColdStart == nil || weight == 0 {
		return
	}
	for i := p.ColdStart.Points; i < p.ColdStart.N; i++ {
		weights[coldStartPoint(p.ColdStart, i)] += weight * p.ColdStart.Weight[i]
	}
}

// addFeatures adds a term for each player, the largest effect first. `atEdge` is `cells` with each input outside its range
// moved to the edge of the range.
func (m *Model) addFeatures(c *chain, a *attribution, cells, atEdge []sizing.Value) {
	order := make([]int, len(a.phi))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(a.phi[j]), math.Abs(a.phi[i])) })
	for _, i := range order {
		name, value := m.playerName(i, cells)
		if _, edge := m.playerName(i, atEdge); edge != value {
			value += ", counts as " + edge
		}
		c.add(TermFeature, name, value, a.phi[i])
	}
}

func (m *Model) playerName(i int, cells []sizing.Value) (name, value string) {
	e := m.Models.Enc
	first := max(len(m.Schema.Fields), len(e.Columns))
	if i < first {
		return m.Schema.Fields[i].Name, formatValue(cells[i])
	}
	pair := e.Pairs[i-first]
	name = e.Columns[pair[1]].Name + "-" + e.Columns[pair[0]].Name
	from, to := cells[pair[0]], cells[pair[1]]
	switch {
	case from.Kind == sizing.Date && to.Kind == sizing.Date:
		return name, sizing.FormatNumber(to.Num-from.Num) + " days"
	case from.Kind == sizing.Number && to.Kind == sizing.Number:
		return name, sizing.FormatNumber(to.Num - from.Num)
	}
	return name, "missing"
}

func formatValue(v sizing.Value) string {
	switch v.Kind {
	case sizing.Number:
		return sizing.FormatNumber(v.Num)
	case sizing.Bool:
		return strconv.FormatBool(v.Num == 1)
	case sizing.Category:
		return v.Text
	case sizing.Date:
		return time.Unix(int64(math.Floor(v.LocalDays()))*86400, 0).UTC().Format(time.DateOnly)
	}
	return "missing"
}

func (m *Model) missingNames(cells []sizing.Value) string {
	const maxNamed = 3
	var names []string
	for j := range m.Models.Enc.Columns {
		if m.Models.Enc.lacksFeature(j, cells) {
			names = append(names, m.Models.Enc.Columns[j].Name)
		}
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
