package main

import (
	"math"

	"github.com/loadaware/loadaware/internal/backtest"
)

const gb = 1e9

func (s *series) add(x, y float64) { s.x, s.y = append(s.x, x), append(s.y, y) }

func stepsOf(steps []backtest.Step, task string) []backtest.Step {
	var selected []backtest.Step
	for _, s := range steps {
		if s.Try.Task == task {
			selected = append(selected, s)
		}
	}
	return selected
}

func allocationFigure(steps []backtest.Step, task string) figure {
	requested := series{name: "static request", colour: grey, style: dashed}
	granted := series{name: "granted", colour: blue}
	used := series{name: "used", colour: orange, style: dots}
	killed := series{name: "killed (granted amount)", colour: red, style: crosses}
	steps = stepsOf(steps, task)
	for i, s := range steps {
		run := float64(i + 1)
		requested.add(run, float64(s.Static)/gb)
		granted.add(run, float64(s.Limit)/gb)
		used.add(run, float64(s.Peak)/gb)
		if s.Kills > 0 {
			killed.add(run, float64(s.Limit)/gb)
		}
	}
	return figure{{
		title: task + ": granted and used, GB", x: runAxis(len(steps)),
		y:      axis{label: "GB", log: true, ticks: []float64{1, 2, 5, 10, 20, 50, 100, 200, 400}},
		series: []series{requested, granted, used, killed},
	}}
}

// runAxis returns an axis with about six round ticks from zero to at least n.
func runAxis(n int) axis {
	a := axis{label: "run"}
	step := math.Pow(10, math.Floor(math.Log10(float64(n))))
	for _, part := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if float64(n)/(step*part) <= 7 {
			step *= part
			break
		}
	}
	for v := 0.0; v < float64(n)+step; v += step {
		a.ticks = append(a.ticks, v)
	}
	return a
}

func riskFigure(steps []backtest.Step) figure {
	promised := series{name: "promised", colour: blue}
	killed := series{name: "killed", colour: red}
	calibrated := series{name: "calibrated", colour: blue, style: band}
	sum, kills := 0.0, 0.0
	for i, s := range steps {
		if s.Promised != nil {
			sum += *s.Promised
		}
		kills += indicator(s.Kills > 0)
		run := float64(i + 1)
		promised.add(run, sum)
		killed.add(run, kills)
		slack := max(sum/2, 3*math.Sqrt(sum)) // half of the promised kills or three standard deviations of a Poisson variable, whichever is larger
		calibrated.add(run, sum+slack)
		calibrated.lower = append(calibrated.lower, max(0, sum-slack))
	}
	return figure{{
		title: "First tries killed so far, promised and real, all tasks", x: runAxis(len(steps)),
		y:      axis{label: "first tries", ticks: ticksUpTo(calibrated.y[len(calibrated.y)-1])},
		series: []series{calibrated, promised, killed},
	}}
}

// ticksUpTo returns about five round ticks from zero to at least v.
func ticksUpTo(v float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(v)))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if v/(step*part) <= 6 {
			step *= part
			break
		}
	}
	ticks := []float64{0}
	for last := 0.0; last < v; {
		last = float64(len(ticks)) * step
		ticks = append(ticks, math.Round(last*1e6)/1e6)
	}
	return ticks
}

// driftFigure shows a task whose peaks suddenly grow. Its history must be from drift: from the middle on, the peaks are
// multiplied by driftFactor.
func driftFigure(steps []backtest.Step, task string) figure {
	ratio := series{name: "granted / used", colour: blue, style: dots}
	killed := series{name: "killed", colour: red, style: crosses}
	needed := series{name: "peak", colour: grey, style: dashed}
	jump := series{name: "peaks × 1.8 from here on", colour: green}
	steps = stepsOf(steps, task)
	for i, s := range steps {
		run := float64(i + 1)
		needed.add(run, 1)
		granted := float64(s.Limit) / float64(s.Peak)
		if s.Kills > 0 {
			killed.add(run, granted)
		} else {
			ratio.add(run, granted)
		}
	}
	y := axis{label: "granted / used", log: true, ticks: []float64{0.25, 0.5, 1, 2, 4, 8, 16}}
	jump.x, jump.y = []float64{float64(len(steps)) / 2, float64(len(steps)) / 2}, []float64{y.ticks[0], y.ticks[len(y.ticks)-1]}
	return figure{{title: task + ": a sudden change and the recovery", x: runAxis(len(steps)), y: y, series: []series{needed, jump, ratio, killed}}}
}

func targetFigure(targets []targetResult) figure {
	x := axis{label: "risk target, %", log: true, ticks: []float64{0.2, 0.5, 1, 2, 5, 10, 20}}
	waste := series{name: "wasted / used", colour: blue}
	all := series{name: "all runs", colour: red}
	killedByModel := series{name: "without the cold start", colour: blue}
	target := series{name: "target", colour: grey, style: dashed, x: []float64{0.2, 20}, y: []float64{0.2, 20}}
	highest := 0.0
	for _, t := range targets {
		waste.add(100*t.target, t.waste)
		all.add(100*t.target, 100*t.killed)
		killedByModel.add(100*t.target, 100*t.killedByModel)
		highest = max(highest, t.waste)
	}
	return figure{
		{title: "Waste against the risk target", x: x, y: axis{label: "wasted / used", ticks: ticksUpTo(highest)}, series: []series{waste}},
		{title: "First tries killed, %", x: x, y: axis{label: "%", log: true, ticks: x.ticks}, series: []series{target, all, killedByModel}},
	}
}

func policiesFigure(results []backtest.Result) figure {
	ours := series{colour: blue, style: dots}
	others := series{colour: grey, style: dots}
	mostKilled, mostUsed := 0.0, 0.0
	for _, r := range results {
		s := &others
		if r.Policy == backtest.Loadaware {
			s = &ours
		}
		s.add(r.Killed, r.Utilisation)
		s.text = append(s.text, r.Policy)
		mostKilled, mostUsed = max(mostKilled, r.Killed), max(mostUsed, r.Utilisation)
	}
	return figure{{
		title: "Utilisation against kills, all tasks (better is up and left)",
		x:     axis{label: "runs killed at least once, %", ticks: ticksUpTo(mostKilled)},
		y:     axis{label: "utilisation, %", ticks: ticksUpTo(mostUsed)}, series: []series{others, ours},
	}}
}
