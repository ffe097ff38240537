package experiment_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/sizing"
)

func sampleReport(t *testing.T) *experiment.Report {
	return run(t, strings.ReplaceAll(history(60), ",score,", ",sco|<re>,"), experiment.Config{
		Families: []string{"prior", "softmax-trees", "serving"}, Oversamplings: []string{"none", "random"},
		BinsGB: map[string][][]float64{"sco|<re>": {{20, 200}}}, Seeds: 2, Trials: 1,
	})
}

func TestReadableFormatsContainEveryTable(t *testing.T) {
	r := sampleReport(t)
	for _, format := range []string{"table", "markdown", "html"} {
		text := render(t, format, r)
		for _, title := range []string{"Binning", "Accuracy and u score by family", "Oversampling", "u rate and estimated improvement", "Task level", "Run level", "Confusion of sco|", "Parameters that the search found", "Left out"} {
			assert.Contains(t, text, title, format)
		}
		assert.Contains(t, text, "some history: 2 seeds, 30 % of each bin held out, drawn by seed, penalty 10, parameters from 1 trials (bayes)", format)
	}
}

func TestTheHeadlineCountsTheTriesThatAreLeftOut(t *testing.T) {
	r := sampleReport(t)
	r.LeftOutRows = 7
	assert.Contains(t, render(t, "table", r), "(bayes); 7 tries left out that are not a success with a measured or sampled peak\n")
}

func TestNumbersAreAlignedToTheRight(t *testing.T) {
	_, below, _ := strings.Cut(render(t, "table", sampleReport(t)), "Oversampling\n")
	lines := strings.Split(below, "\n")[1:5]
	for _, line := range lines {
		assert.Len(t, []rune(line), len([]rune(lines[0])), line)
	}
	assert.Regexp(t, `^sco\|<re>  20; 200  prior +\d+\.\d\d +\d+\.\d\d$`, lines[1])
	assert.Regexp(t, `^sco\|<re>  20; 200  serving +\d+\.\d\d +–$`, lines[3])
}

func TestMarkupIsEscaped(t *testing.T) {
	r := sampleReport(t)
	assert.Contains(t, render(t, "markdown", r), `| sco\|<re> | 20; 200 | prior | none |`)
	page := render(t, "html", r)
	assert.Contains(t, page, `<td class="text">sco|&lt;re&gt;</td>`)
	assert.NotContains(t, page, "<re>")
	assert.NotContains(t, page, "http", "the page needs no other file")
}

func TestCSVHoldsEveryRow(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(render(t, "csv", sampleReport(t))), "\n")
	assert.Equal(t, "task,bins_gb,family,oversampling,split,seed,accuracy,u_score,u_rate,optimal,time_optimal,estimated", lines[0])
	assert.Len(t, lines, 1+5*2)
	assert.True(t, strings.HasPrefix(lines[2], "sco|<re>,20;200,prior,none,stratified,1,"), lines[2])
}

func TestWriteRejectsUnknownFormats(t *testing.T) {
	err := experiment.Write(&strings.Builder{}, "xml", &experiment.Report{})
	assert.Equal(t, sizing.Invalid, sizing.KindOf(err))
	assert.ErrorContains(t, err, "table, json, csv, markdown, html")
}
