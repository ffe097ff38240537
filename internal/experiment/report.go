package experiment

// Report is what an experiment came to. It holds no times: the same history,
// parameters and seeds give the same report.
type Report struct {
	Trace       string    `json:"trace"`
	Fingerprint string    `json:"fingerprint"` // of the data
	LeftOutRows int       `json:"left_out_rows"`
	Split       string    `json:"split"`
	Seeds       int       `json:"seeds"`
	Penalty     float64   `json:"penalty"`
	Trials      int       `json:"trials"` // of the search for parameters; 0: none
	Search      string    `json:"search"`
	Rows        []Row     `json:"rows"` // by task, binning, family, oversampling, then seed
	Binnings    []Binning `json:"binnings"`
	Tuned       []*Tuned  `json:"tuned"`
	LeftOut     []LeftOut `json:"left_out"`
}

// LeftOut is a combination that cannot be tried.
type LeftOut struct {
	Family       string `json:"family"`
	Oversampling string `json:"oversampling"`
	Reason       string `json:"reason"`
}

// report gathers papers[trial·Seeds + seed][combination].
func (p *Plan) report(papers [][]*paper) (*Report, error) {
	r := &Report{
		Trace: p.data.Name, Fingerprint: p.data.Fingerprint, LeftOutRows: p.data.LeftOut,
		Split: p.Split, Seeds: p.Seeds, Penalty: p.Penalty, Trials: p.Trials, Search: p.Search,
		Binnings: p.table, LeftOut: p.leftOut,
	}
	for t := range p.trials {
		for c := range p.chosen {
			for seed := range p.Seeds {
				paper := papers[t*p.Seeds+seed][c]
				r.Rows = append(r.Rows, paper.Row)
				if paper.tuned != nil {
					r.Tuned = append(r.Tuned, paper.tuned)
				}
			}
		}
	}
	return r, nil
}
