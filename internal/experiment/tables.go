package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type titledTable struct {
	Title, Note string
	Texts       int // number of leading columns with text; the others contain numbers
	Header      []string
	Rows        [][]string
}

// noFigure stands for a figure that does not exist.
const noFigure = "–"

func (r *Report) tables() []titledTable {
	tables := []titledTable{r.binningTable(), r.scoreTable(), r.oversamplingTable(), r.estimateTable(), r.taskTable(), r.runTable()}
	tables = append(tables, r.confusionTables()...)
	tables = append(tables, r.tunedTable(), r.leftOutTable())
	return slices.DeleteFunc(tables, func(t titledTable) bool { return len(t.Rows) == 0 })
}

func (r *Report) headline() string {
	holdout := "30 % of each bin held out, drawn by seed"
	if r.Split == ByTime {
		holdout = "the newest 30 % held out"
	}
	line := fmt.Sprintf("%s: %d seeds, %s, penalty %s", r.Trace, r.Seeds, holdout, number(r.Penalty))
	if r.Trials > 0 {
		line += fmt.Sprintf(", parameters from %d trials (%s)", r.Trials, r.Search)
	}
	if r.LeftOutRows > 0 {
		line += fmt.Sprintf("; %d tries left out that are not a success with a measured or sampled peak", r.LeftOutRows)
	}
	return line
}

func (r *Report) binningTable() titledTable {
	t := titledTable{
		Title: "Binning", Texts: 3, Header: []string{"task", "bins GB", "edges by", "optimal %", "time-optimal %"},
		Note: "The static cost is the cost if every run gets the top edge. Optimal is the share of it that a perfect classifier over the bins would save; time-optimal weights runs by duration.",
	}
	for _, b := range r.Binnings {
		t.Rows = append(t.Rows, []string{b.Task, bins(b.BinsGB), b.Found, percent(b.Optimal), percent(b.TimeOptimal)})
	}
	return t
}

func (r *Report) scoreTable() titledTable {
	t := titledTable{
		Title: "Accuracy and u score by family", Texts: 4,
		Header: []string{"task", "bins GB", "family", "oversampling", "accuracy %", "range", "u score", "range"},
		Note:   fmt.Sprintf("Mean and range over the seeds, on held-out rows. u score = 100 · (over + %s · under) / rows: lower is better.", number(r.Penalty)),
	}
	for _, s := range r.Summaries {
		t.Rows = append(t.Rows, []string{s.Task, bins(s.BinsGB), s.Family, s.Oversampling,
			percent(s.Accuracy.Mean), percent(s.Accuracy.Low) + "–" + percent(s.Accuracy.High),
			decimals(s.UScore.Mean, 2), decimals(s.UScore.Low, 1) + "–" + decimals(s.UScore.High, 1)})
	}
	return t
}

// oversamplingTable returns the table with a column for each oversampling method. It has no rows if there is only one method.
func (r *Report) oversamplingTable() titledTable {
	t := titledTable{
		Title: "Oversampling", Texts: 3, Header: []string{"task", "bins GB", "family"},
		Note: "u score, mean over the seeds.",
	}
	var methods []string
	for _, s := range r.Summaries {
		if !slices.Contains(methods, s.Oversampling) {
			methods = append(methods, s.Oversampling)
		}
	}
	if len(methods) < 2 {
		return t
	}
	t.Header = append(t.Header, methods...)
	var last []string
	for _, s := range r.Summaries {
		key := []string{s.Task, bins(s.BinsGB), s.Family}
		if last == nil || !slices.Equal(last[:len(key)], key) {
			last = key
			for range methods {
				last = append(last, noFigure)
			}
			t.Rows = append(t.Rows, last)
		}
		last[len(key)+slices.Index(methods, s.Oversampling)] = decimals(s.UScore.Mean, 2)
	}
	return t
}

func (r *Report) estimateTable() titledTable {
	t := titledTable{
		Title: "u rate and estimated improvement", Texts: 4,
		Header: []string{"task", "bins GB", "family", "oversampling", "u rate %", "range", "optimal %", "estimated %", "range"},
		Note:   "u rate is the share of under-estimates. Estimated = optimal · accuracy − u rate.",
	}
	for _, s := range r.Summaries {
		t.Rows = append(t.Rows, []string{s.Task, bins(s.BinsGB), s.Family, s.Oversampling,
			decimals(100*s.URate.Mean, 2), decimals(100*s.URate.Low, 2) + "–" + decimals(100*s.URate.High, 2),
			percent(s.Optimal), percent(s.Estimated.Mean), percent(s.Estimated.Low) + "–" + percent(s.Estimated.High)})
	}
	return t
}

func (r *Report) taskTable() titledTable {
	t := titledTable{
		Title: "Task level: requested, and granted by the service (family serving)", Texts: 1, Header: append([]string{"task"}, savingsHeader...),
		Note: "Means over the held-out runs. GB and cores are those of the first try. GB·h also count the retries; a killed try counts as if it had lasted as long as the whole run. " +
			"CPU above: share of the runs that used more cores than granted; except threads: the same share, but a run that got one core does not count as above if its task never used more than 1.25 cores (about one thread).",
	}
	for _, l := range r.Tasks {
		t.Rows = append(t.Rows, append([]string{l.Task}, l.cells()...))
	}
	return t
}

func (r *Report) runTable() titledTable {
	t := titledTable{
		Title: "Run level: one DAG run, in which each task runs once with its mean amounts", Texts: 1, Header: append([]string{"dag", "tasks"}, savingsHeader...),
	}
	for _, l := range r.Runs {
		t.Rows = append(t.Rows, append([]string{l.DAG, strconv.Itoa(l.Tasks)}, l.cells()...))
		t.Note = "Saved memory of one run over the seeds: " + percent(l.SavedGBSeeds.Low) + "–" + percent(l.SavedGBSeeds.High) + " %."
	}
	if len(r.Runs) > 1 {
		t.Note = ""
	}
	return t
}

var savingsHeader = []string{"GB before", "after", "saved %", "GB·h before", "after", "saved %", "killed %", "cores before", "after", "saved %", "CPU above %", "except threads %"}

func (l *Savings) cells() []string {
	cells := []string{decimals(l.RequestedGB, 1), decimals(l.GrantedGB, 1), percent(l.SavedGB),
		decimals(l.RequestedGBh, 2), decimals(l.GrantedGBh, 2), percent(l.SavedGBh), decimals(100*l.Killed, 2)}
	if l.RequestedCores == 0 {
		return append(cells, noFigure, noFigure, noFigure, noFigure, noFigure)
	}
	return append(cells, decimals(l.RequestedCores, 2), decimals(l.GrantedCores, 2), percent(l.SavedCores),
		decimals(100*l.AboveGrant, 2), decimals(100*l.AboveGrantThread, 2))
}

func (r *Report) confusionTables() []titledTable {
	var tables []titledTable
	for _, c := range r.Confusions {
		title := "Confusion of " + c.Task + " at " + bins(c.BinsGB) + " GB"
		if len(tables) == 0 || tables[len(tables)-1].Title != title {
			t := titledTable{
				Title: title, Texts: 3, Header: []string{"family", "oversampling", "actual"},
				Note: "Held-out rows over all seeds, by their actual and predicted bins, without the rows above the last edge; precision and recall are those of the bin in the column actual.",
			}
			for _, edge := range c.BinsGB {
				t.Header = append(t.Header, "≤ "+number(edge))
			}
			t.Header = append(t.Header, "precision %", "recall %")
			tables = append(tables, t)
		}
		t := &tables[len(tables)-1]
		for a, counts := range c.Counts {
			cells := []string{c.Family, c.Oversampling, "≤ " + number(c.BinsGB[a])}
			for _, n := range counts {
				cells = append(cells, strconv.Itoa(n))
			}
			t.Rows = append(t.Rows, append(cells, share(c.Precision[a]), share(c.Recall[a])))
		}
	}
	return tables
}

func (r *Report) tunedTable() titledTable {
	t := titledTable{
		Title: "Parameters that the search found", Texts: 4, Header: []string{"task", "bins GB", "family", "oversampling", "seed", "u score in folds", "of first trial", "parameters"},
	}
	for _, s := range r.Tuned {
		var params []string
		for _, d := range s.space {
			params = append(params, d.Name+" "+number(s.Params[d.Name]))
		}
		t.Rows = append(t.Rows, []string{s.Task, bins(s.BinsGB), s.Family, s.Oversampling, strconv.FormatUint(s.Seed, 10),
			decimals(s.UScore, 2), decimals(s.FirstUScore, 2), strings.Join(params, ", ")})
	}
	return t
}

func (r *Report) leftOutTable() titledTable {
	t := titledTable{Title: "Left out", Texts: 3, Header: []string{"family", "oversampling", "because"}}
	for _, l := range r.LeftOut {
		t.Rows = append(t.Rows, []string{l.Family, l.Oversampling, l.Reason})
	}
	return t
}

func bins(gb []float64) string {
	texts := make([]string, len(gb))
	for i, edge := range gb {
		texts[i] = number(edge)
	}
	return strings.Join(texts, "; ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func percent(share float64) string { return decimals(100*share, 1) }

func share(v *float64) string {
	if v == nil {
		return noFigure
	}
	return percent(*v)
}

func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }
