package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type part struct {
	name       string
	ablation   taskmodel.Ablation
	noFeatures bool
}

// unbounded replaces infinity: a bound with this value has no effect, and as CostPreference it leaves all weight to the
// cheapest expert. It is finite, because the learner may multiply it by zero.
const unbounded = 1e9

// parts lists the parts that can be removed, in the order of the table.
var parts = []part{
	{name: "features", noFeatures: true},
	{name: "cold-start average", ablation: taskmodel.Ablation{NoColdStart: true}},
	{name: "scale in the cold-start average", ablation: taskmodel.Ablation{NoScale: true}},
	{name: "narrow deviations in the cold-start average", ablation: taskmodel.Ablation{NoNarrow: true}},
	{name: "local trend in the cold-start average", ablation: taskmodel.Ablation{NoTrend: true}},
	{name: "blend of cold start and experts", ablation: config(func(c *experts.Config) { c.BlendRows = math.Inf(1) })},
	{name: "pool of the DAG", ablation: taskmodel.Ablation{NoPool: true}},
	{name: "boosted trees", ablation: taskmodel.Ablation{Adjust: withoutTrees}},
	{name: "log-linear base", ablation: taskmodel.Ablation{Adjust: withoutLine}},
	{name: "steps", ablation: taskmodel.Ablation{NoSteps: true}},
	{name: "new levels and falls", ablation: taskmodel.Ablation{NoLevels: true}},
	{name: "combinations of categories", ablation: taskmodel.Ablation{NoCombinations: true}},
	{name: "same inputs", ablation: taskmodel.Ablation{Adjust: withoutSameInputs}},
	{name: "margins above repeats", ablation: taskmodel.Ablation{Adjust: func(p *experts.Point) { p.Repeats = experts.Repeats{} }}},
	{name: "stack", ablation: taskmodel.Ablation{Adjust: func(p *experts.Point) { p.Level[experts.Stack] = p.Level[experts.LineTrees] }}},
	{name: "rows near in level", ablation: excluding("rows near in level")},
	{name: "predicted spread", ablation: excluding("predicted spread")},
	{name: "mixture (the cheapest expert alone)", ablation: config(func(c *experts.Config) { c.CostPreference = unbounded })},
	{name: "risk target of the experts", ablation: config(func(c *experts.Config) { c.KillRateSlack = unbounded })},
	{name: "adaptive correction", ablation: config(func(c *experts.Config) { c.Step = 0 })},
	{name: "reach", ablation: config(func(c *experts.Config) { c.Reach, c.FirstReach = unbounded, unbounded })},
	{name: "burn-in", ablation: config(func(c *experts.Config) { c.BurnInRows = 0 })},
	{name: "common causes in mapped tasks", ablation: taskmodel.Ablation{NoDAGRuns: true}},
	{name: "earlier tasks of the run", ablation: taskmodel.Ablation{NoRunScores: true}},
	{name: "known kills", ablation: taskmodel.Ablation{NoKnownKills: true}},
	{name: "detection of smaller changes (CUSUM)", ablation: taskmodel.Ablation{NoShifts: true}},
}

func config(change func(*experts.Config)) taskmodel.Ablation {
	return taskmodel.Ablation{Config: change}
}

// excluding returns the ablation that omits the experts that use one residual distribution.
func excluding(distribution string) taskmodel.Ablation {
	return taskmodel.Ablation{Exclude: func(expert string) bool { return strings.HasSuffix(expert, ", by "+distribution) }}
}

func withoutTrees(p *experts.Point) { replaceLineTrees(p, p.Level[experts.Line], experts.Trees) }

// withoutLine replaces both linear models, the trees that correct the log-linear one, and the stack by the trees alone.
func withoutLine(p *experts.Point) {
	replaceLineTrees(p, p.Level[experts.Trees], experts.Line, experts.Plain)
}

// replaceLineTrees sets the predictions of LineTrees, Stack and the models `further` to `level`, a logarithm of the peak;
// and those of Same and Fresh if no run had the same inputs.
func replaceLineTrees(p *experts.Point, level float64, further ...int) {
	lineTrees := p.Level[experts.LineTrees]
	for _, k := range []int{experts.Same, experts.Fresh} {
		if math.Abs(p.Level[k]-lineTrees) < 1e-12 { // without such a run, model k predicts what LineTrees predicts
			p.Level[k] = level
		}
	}
	for _, k := range append(further, experts.LineTrees, experts.Stack) {
		p.Level[k] = level
	}
}

// withoutSameInputs changes the predictions as if no two runs had the same inputs.
func withoutSameInputs(p *experts.Point) {
	p.Level[experts.Same], p.Level[experts.Fresh] = p.Level[experts.LineTrees], p.Level[experts.LineTrees]
	p.Scale[experts.SameScale], p.MinAmount, p.Repeats = p.Scale[experts.TreeScale], 0, experts.Repeats{}
}

// read reads the first `rows` rows of a trace, or all rows if `rows` is 0. It drops the features if the part is the features.
func (p part) read(name string, rows int) (*backtest.Trace, error) {
	history, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if p.noFeatures {
		if history, err = stripFeatures(history); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return backtest.Read(traceName(name), bytes.NewReader(history), backtest.Selection{Limit: rows})
}

func stripFeatures(history []byte) ([]byte, error) {
	in, err := file.Open(bytes.NewReader(history))
	if err != nil {
		return nil, err
	}
	var rows []sizing.Observation
	for row, err := range in.All() {
		if err != nil {
			return nil, err
		}
		row.Observation.Features = nil
		rows = append(rows, row.Observation)
	}
	var out bytes.Buffer
	err = file.Write(&out, rows)
	return out.Bytes(), err
}
