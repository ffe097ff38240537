package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// replay returns a step per row that loadaware's own policy replays. In this command, as in package backtest, a policy is a
// rule that sizes tries, not the settings of a task.
func replay(history []byte, target float64) ([]backtest.Step, error) {
	t, err := backtest.Read("history", bytes.NewReader(history), backtest.Selection{})
	if err != nil {
		return nil, err
	}
	var steps []backtest.Step
	cfg := backtest.Config{
		Policies: []string{backtest.Loadaware}, RiskTarget: target,
		OnStep: func(s backtest.Step) { steps = append(steps, s) },
	}
	_, err = backtest.Run(context.Background(), t, cfg)
	return steps, err
}

func backtestPolicies(history []byte) ([]backtest.Result, error) {
	t, err := backtest.Read("history", bytes.NewReader(history), backtest.Selection{})
	if err != nil {
		return nil, err
	}
	report, err := backtest.Run(context.Background(), t, backtest.Config{})
	if err != nil {
		return nil, err
	}
	return report.Results, nil
}

const driftFactor = 1.8

// drift returns the measured runs of a history in the order of their start, with the peaks of the second half multiplied by
// driftFactor.
func drift(history []byte) ([]byte, error) {
	in, err := file.Open(bytes.NewReader(history))
	if err != nil {
		return nil, err
	}
	var rows []sizing.Observation
	for row, err := range in.All() {
		if err != nil {
			return nil, err
		}
		if _, known := row.Observation.Peak(); known == sizing.Exact && row.Observation.Duration > 0 {
			rows = append(rows, row.Observation)
		}
	}
	slices.SortStableFunc(rows, func(a, b sizing.Observation) int { return a.StartedAt.Compare(b.StartedAt) })
	for i := len(rows) / 2; i < len(rows); i++ {
		rows[i].MemoryMax = rows[i].MemoryMax.Times(driftFactor)
	}
	var out bytes.Buffer
	if err := file.Write(&out, rows); err != nil {
		return nil, fmt.Errorf("write the history with a change: %w", err)
	}
	return out.Bytes(), nil
}

// targetResult contains the figures of a replay at one risk target.
type targetResult struct {
	target        float64
	waste         float64 // wasted memory time divided by used memory time
	killed        float64 // killed first tries divided by all first tries
	killedByModel float64 // the same ratio for the first tries after the cold start
}

func replayTargets(history []byte) ([]targetResult, error) {
	var all []targetResult
	for _, target := range []float64{0.002, 0.005, 0.01, sizing.DefaultRiskTarget, 0.03, 0.05, 0.1, 0.2} {
		steps, err := replay(history, target)
		if err != nil {
			return nil, err
		}
		all = append(all, sum(steps, target))
	}
	return all, nil
}

func sum(steps []backtest.Step, target float64) targetResult {
	t, used, predicted := targetResult{target: target}, 0.0, 0.0
	for _, s := range steps {
		used += float64(s.Peak) * s.Duration.Seconds()
		t.waste += s.Wasted
		killed := indicator(s.Kills > 0)
		t.killed += killed
		if !s.ColdStart {
			t.killedByModel += killed
			predicted++
		}
	}
	t.waste, t.killed, t.killedByModel = t.waste/used, t.killed/float64(len(steps)), t.killedByModel/max(predicted, 1)
	return t
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
