package experiment

import (
	"slices"
	"strings"
)

// Report holds the results of an experiment. It contains no timestamps: the same
// history, parameters and seeds give the same report.
type Report struct {
	Trace       string  `json:"trace"`
	Fingerprint string  `json:"fingerprint"`   // of the data
	LeftOutRows int     `json:"left_out_rows"` // tries that are not a success with a measured or sampled peak
	Split       string  `json:"split"`
	Seeds       int     `json:"seeds"`
	Penalty     float64 `json:"penalty"`
	Trials      int     `json:"trials"` // trials of the parameter search; 0: no search
	Search      string  `json:"search"`
	Rows        []Row   `json:"rows"` // by task, binning, family, oversampling, then seed

	Binnings   []Binning                 `json:"binnings"`
	Summaries  []Summary                 `json:"summaries"`
	Tasks      []TaskSavings             `json:"task_level"` // nil without the family Serving
	Runs       []RunSavings              `json:"run_level"`  // nil without the family Serving
	Confusions []Confusion               `json:"confusions"`
	Tuned      []*TuningResult           `json:"tuned"` // nil without a parameter search
	LeftOut    []IncompatibleCombination `json:"left_out"`

	classifiers []StoredModel // of the first seed, for Plan.Models
}

// IncompatibleCombination is a combination of family and oversampling that the experiment cannot evaluate.
type IncompatibleCombination struct {
	Family       string `json:"family"`
	Oversampling string `json:"oversampling"`
	Reason       string `json:"reason"`
}

// report builds the report from results[task·Seeds + seed][combination], where task is the index
// in p.binned, and from the sums of all tasks of the evaluated DAGs.
func (p *Plan) report(results [][]*result, all []*savedTask) (*Report, error) {
	r := &Report{
		Trace: p.data.Name, Fingerprint: p.data.Fingerprint, LeftOutRows: p.data.LeftOut,
		Split: p.Split, Seeds: p.Seeds, Penalty: p.Penalty, Trials: p.Trials, Search: p.Search,
		Binnings: p.table, Tasks: p.taskSavings(all), Runs: p.runSavings(all), LeftOut: p.leftOut,
	}
	for t := range p.binned {
		for c := range p.chosen {
			bySeed := make([]*result, p.Seeds)
			for seed := range bySeed {
				bySeed[seed] = results[t*p.Seeds+seed][c]
				r.Rows = append(r.Rows, bySeed[seed].Row)
				if tuned := bySeed[seed].tuned; tuned != nil {
					r.Tuned = append(r.Tuned, tuned)
				}
			}
			if first := bySeed[0]; first.model != nil {
				setting := first.Setting()
				r.classifiers = append(r.classifiers, StoredModel{first.Task, strings.Join([]string{first.Family, first.Oversampling, setting.Bins}, " "), first.model})
			}
			matrix, err := confusion(bySeed)
			if err != nil {
				return nil, err
			}
			r.Confusions = append(r.Confusions, matrix)
		}
	}
	r.Summaries = summaries(r.Rows)
	return r, nil
}

// Models returns the models to store with an experiment. First comes the model of the service for each task, trained on the
// whole history; taskmodel.Open reads it. The other models are the classifiers of the first seed except cart;
// classify.Decode reads them. They have no encoding of features and predict nothing on their own, but their bytes show
// whether a repetition of the experiment gives the same classifiers.
func (p *Plan) Models(r *Report) ([]StoredModel, error) {
	var models []StoredModel
	for i, t := range p.binned {
		if slices.ContainsFunc(p.binned[:i], func(before *binnedTask) bool { return before.dataset == t.dataset }) {
			continue
		}
		all := byTime(t.dataset.Len())
		served, err := p.serve(t.dataset, append(all.train, all.test...))
		if err != nil {
			return nil, err
		}
		blob, err := served.Model.Blob()
		if err != nil {
			return nil, err
		}
		models = append(models, StoredModel{t.name, Serving, blob})
	}
	return append(models, r.classifiers...), nil
}
