package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Config configures an experiment. The zero value evaluates the default families without
// oversampling and without a parameter search.
type Config struct {
	Tasks         []string               `json:"tasks"`        // task ids or whole keys; the large tasks (see Data.large) if empty
	BinsGB        map[string][][]float64 `json:"bins_gb"`      // binnings by task name (an id or a key, as in Tasks): ascending upper edges in GB; the experiment searches edges for tasks without binnings
	Families      []string               `json:"families"`     // names from Families(); DefaultFamilies() if empty
	Oversamplings []string               `json:"oversampling"` // names from Oversamplings(); None if empty
	Split         string                 `json:"split"`        // a name from Splits(); Stratified if empty
	Seeds         int                    `json:"seeds"`        // number of seeds, which are 0, 1, …; 5 if zero
	Penalty       float64                `json:"penalty"`      // cost of an under-estimate, where an over-estimate costs 1; 10 if zero
	Trials        int                    `json:"trials"`       // trials of each parameter search; no search if zero
	Search        string                 `json:"search"`       // a name from Searches(); Bayes if empty
}

func (c Config) withDefaults() Config {
	if len(c.Families) == 0 {
		c.Families = DefaultFamilies()
	}
	if len(c.Oversamplings) == 0 {
		c.Oversamplings = []string{None}
	}
	c.Split = cmp.Or(c.Split, Stratified)
	c.Seeds = cmp.Or(c.Seeds, 5)
	c.Penalty = cmp.Or(c.Penalty, score.DefaultPenalty)
	c.Search = cmp.Or(c.Search, Bayes)
	return c
}

// DefaultFamilies returns the families that a Config without families selects: all except
// softmax-trees-argmax, which is a baseline.
func DefaultFamilies() []string {
	return slices.DeleteFunc(Families(), func(name string) bool { return name == "softmax-trees-argmax" })
}

func (c Config) validate() error {
	for _, choice := range []struct {
		what         string
		chosen, from []string
	}{
		{"family", c.Families, Families()},
		{"oversampling", c.Oversamplings, Oversamplings()},
		{"split", []string{c.Split}, Splits()},
		{"search", []string{c.Search}, Searches()},
	} {
		for i, name := range choice.chosen {
			if !slices.Contains(choice.from, name) {
				return sizing.Errorf(sizing.Invalid, "there is no %s %q; choose among %s", choice.what, name, strings.Join(choice.from, ", "))
			}
			if slices.Contains(choice.chosen[:i], name) {
				return sizing.Errorf(sizing.Invalid, "%s %q is named twice", choice.what, name)
			}
		}
	}
	if c.Seeds < 1 || c.Trials < 0 || !(c.Penalty > 0) || c.Penalty-c.Penalty != 0 {
		return sizing.Errorf(sizing.Invalid, "seeds (%d) must be above 0, penalty (%v) above 0 and finite, and trials (%d) 0 or more", c.Seeds, c.Penalty, c.Trials)
	}
	return nil
}

// Plan is a prepared experiment: its tasks, binnings and families.
type Plan struct {
	Config
	data     *Data
	binned   []*binnedTask // the binnings to evaluate
	table    []Binning     // for the report: all given and searched binnings
	chosen   []combination // the combinations to evaluate
	leftOut  []IncompatibleCombination
	fitted   sync.Map        // models of the service by task and rows: func() (*taskmodel.ServedModel, error)
	progress func(steps int) // nil: none
}

type combination struct{ family, oversampling string }

// New prepares an experiment. It returns an error of kind Invalid or NotFound if the
// Config does not fit the data.
func New(d *Data, cfg Config) (*Plan, error) {
	p := &Plan{Config: cfg.withDefaults(), data: d}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if err := p.chooseBinnings(); err != nil {
		return nil, err
	}
	for _, f := range p.Families {
		for _, o := range p.Oversamplings {
			if why := incompatibility(f, o); why != "" {
				p.leftOut = append(p.leftOut, IncompatibleCombination{f, o, why})
				continue
			}
			p.chosen = append(p.chosen, combination{f, o})
		}
		if _, isClassifier := familyOf(f); !isClassifier && !slices.Contains(p.Oversamplings, None) {
			p.chosen = append(p.chosen, combination{f, None}) // Final and Serving always learn from the original rows
		}
	}
	if len(p.chosen) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "none of the families can learn from rows oversampled by %s", strings.Join(p.Oversamplings, ", "))
	}
	return p, nil
}

func (p *Plan) chooseBinnings() error {
	datasets, err := p.data.named(p.Tasks)
	if err != nil {
		return err
	}
	if len(p.Tasks) == 0 {
		datasets = p.data.large()
	}
	used := map[string]bool{}
	for _, dataset := range datasets {
		b := newBinner(dataset, p.data.nameOf(dataset.Task))
		find := b.search
		for _, name := range []string{dataset.Task.Task, dataset.Task.String()} {
			if gb := p.BinsGB[name]; len(gb) > 0 {
				used[name] = true
				find = func() ([]*binnedTask, []Binning, error) { return b.withEdges(gb) }
			}
		}
		binned, table, err := find()
		if err != nil {
			return err
		}
		p.binned, p.table = append(p.binned, binned...), append(p.table, table...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.BinsGB)) {
		if !used[name] {
			return sizing.Errorf(sizing.NotFound, "bins are given for %q, which is not a task of this experiment; check --tasks", name)
		}
	}
	return nil
}

// Warnings returns a warning about each binning whose last edge is below some peaks.
func (p *Plan) Warnings() []string {
	var warnings []string
	for _, t := range p.binned {
		if warning := t.warning(); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// Steps returns the total number of steps that Run reports.
func (p *Plan) Steps() int {
	steps := 0
	for _, c := range p.chosen {
		steps++
		if f, isClassifier := familyOf(c.family); isClassifier && f.space != nil {
			steps += p.Trials
		}
	}
	return (steps*len(p.binned) + len(p.savedTasks())) * p.Seeds
}

// Run executes the plan on at most GOMAXPROCS goroutines. They call `progress` concurrently, once per step; `progress` may
// be nil. Run stops early at the first error and when ctx ends.
func (p *Plan) Run(ctx context.Context, progress func(steps int)) (*Report, error) {
	p.progress = progress
	results := make([][]*result, len(p.binned)*p.Seeds)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for n := range results {
		work.Go(func() error {
			var err error
			results[n], err = p.evaluateAll(ctx, p.newHoldout(p.binned[n/p.Seeds], uint64(n%p.Seeds)))
			return err
		})
	}
	all := p.savedTasks()
	for n := range len(all) * p.Seeds {
		work.Go(func() error { return p.measure(ctx, all[n/p.Seeds], n%p.Seeds) })
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return p.report(results, all)
}

func (p *Plan) evaluateAll(ctx context.Context, s *holdout) ([]*result, error) {
	var results []*result
	for _, c := range p.chosen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		result, err := s.evaluate(ctx, c)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
		p.step()
	}
	return results, nil
}

func (p *Plan) step() {
	if p.progress != nil {
		p.progress(1)
	}
}

// serve fits the model of the service on training rows. For given rows the model does not depend on
// bins or seeds, so serve caches it by task and rows.
func (p *Plan) serve(dataset *taskmodel.Dataset, train []int) (*taskmodel.ServedModel, error) {
	key := []byte(dataset.Task.String())
	for _, i := range train {
		key = strconv.AppendInt(append(key, '\n'), int64(i), 10)
	}
	once, _ := p.fitted.LoadOrStore(string(key), sync.OnceValues(func() (*taskmodel.ServedModel, error) { return dataset.Serve(train) }))
	served, err := once.(func() (*taskmodel.ServedModel, error))()
	if err != nil {
		return nil, fmt.Errorf("fit the model of the service: %w", err)
	}
	return served, nil
}
