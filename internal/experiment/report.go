package experiment

import (
	"slices"
	"strings"
)

// Report is what an experiment came to. It holds no times: the same history,
// parameters and seeds give the same report.
type Report struct {
	Trace       string  `json:"trace"`
	Fingerprint string  `json:"fingerprint"` // of the data
	LeftOutRows int     `json:"left_out_rows"`
	Split       string  `json:"split"`
	Seeds       int     `json:"seeds"`
	Penalty     float64 `json:"penalty"`
	Trials      int     `json:"trials"` // of the search for parameters; 0: none
	Search      string  `json:"search"`
	Rows        []Row   `json:"rows"` // by task, binning, family, oversampling, then seed

	Binnings   []Binning   `json:"binnings"`
	Summaries  []Summary   `json:"summaries"`
	Tasks      []TaskLevel `json:"task_level"` // where Serving is tried
	Runs       []RunLevel  `json:"run_level"`  // where Serving is tried
	Confusions []Confusion `json:"confusions"`
	Tuned      []*Tuned    `json:"tuned"`    // where parameters were searched for
	LeftOut    []LeftOut   `json:"left_out"` // what was asked for and cannot be done

	classifiers []KeptModel
}

// LeftOut is a combination that cannot be tried.
type LeftOut struct {
	Family       string `json:"family"`
	Oversampling string `json:"oversampling"`
	Reason       string `json:"reason"`
}

// report gathers papers[trial·Seeds + seed][combination].
func (p *Plan) report(papers [][]*paper, all []*measured) (*Report, error) {
	r := &Report{
		Trace: p.data.Name, Fingerprint: p.data.Fingerprint, LeftOutRows: p.data.LeftOut,
		Split: p.Split, Seeds: p.Seeds, Penalty: p.Penalty, Trials: p.Trials, Search: p.Search,
		Binnings: p.table, Tasks: p.taskLevels(all), Runs: p.runLevels(all), LeftOut: p.leftOut,
	}
	for t := range p.trials {
		for c := range p.chosen {
			of := make([]*paper, p.Seeds)
			for seed := range of {
				of[seed] = papers[t*p.Seeds+seed][c]
				r.Rows = append(r.Rows, of[seed].Row)
				if tuned := of[seed].tuned; tuned != nil {
					r.Tuned = append(r.Tuned, tuned)
				}
			}
			if first := of[0]; first.model != nil {
				setting := first.Setting()
				r.classifiers = append(r.classifiers, KeptModel{first.Task, strings.Join([]string{first.Family, first.Oversampling, setting.Bins}, " "), first.model})
			}
			matrix, err := confusion(of)
			if err != nil {
				return nil, err
			}
			r.Confusions = append(r.Confusions, matrix)
		}
	}
	r.Summaries = summaries(r.Rows)
	return r, nil
}

// Models are what is worth keeping of an experiment: for each of its tasks serving's
// model, learned from the whole history and ready to be opened by fitting.Open, then
// the classifiers of the first seed, by classify.Decode, without their encoding: to
// check that another run gives the same bytes.
func (p *Plan) Models(r *Report) ([]KeptModel, error) {
	var models []KeptModel
	for i, t := range p.trials {
		if slices.ContainsFunc(p.trials[:i], func(before *trial) bool { return before.lesson == t.lesson }) {
			continue
		}
		all := byTime(t.lesson.Len())
		served, err := p.serve(t.lesson, append(all.train, all.test...))
		if err != nil {
			return nil, err
		}
		blob, err := served.Model.Blob()
		if err != nil {
			return nil, err
		}
		models = append(models, KeptModel{t.name, Serving, blob})
	}
	return append(models, r.classifiers...), nil
}
