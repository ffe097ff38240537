package explain

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// maxNamedFeatures is the largest number of features that the text names. The chain contains all of them.
const maxNamedFeatures = 3

func (e *Explanation) text() string {
	var s []string
	addf := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	chain, verb := &e.Chain, "is granted"
	if e.Shadow != nil {
		addf("Shadow mode: the answer is the static request of %s.", chain.Granted.Approx())
		chain, verb = e.Shadow, "would be granted in enforce mode"
	}
	s = append(s, chain.text(verb)...)
	if p := e.Risk.Promised; p != nil {
		addf("The run needs more than that with a probability of %s %% (the target is %s %%).", percent(*p), percent(e.Risk.Target))
	}
	if sentence := e.nearestText(); sentence != "" {
		addf("%s", sentence)
	}
	if len(e.Ladder) > 1 && e.Killed == nil {
		var rungs []string
		for _, b := range e.Ladder[1:] {
			rungs = append(rungs, b.Approx())
		}
		if e.Mode == sizing.Enforce {
			addf("After an OOM kill the run gets %s.", strings.Join(rungs, ", then "))
		} else { // the lift answers the static request, too
			addf("After an OOM kill the run gets the static request again; in enforce mode the run would get %s.", strings.Join(rungs, ", then "))
		}
	}
	if e.Killed != nil {
		addf("%s", e.Killed.Text)
	}
	for _, w := range e.warnings {
		addf("%s: %s.", w.Field, w.Detail)
	}
	if e.Note != "" {
		addf("Note: %s.", e.Note)
	}
	return strings.Join(s, " ")
}

// text returns the sentences about the chain. `verb` is the verb of the first one, such as "is granted".
func (c *Chain) text(verb string) (s []string) {
	addf := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if len(c.Terms) == 0 {
		addf("%s %s: %s.", c.Granted.Approx(), verb, c.BaseName)
		return s
	}
	addf("%s %s. The calculation starts from an amount of %s, %s.", c.Granted.Approx(), verb, c.Base.Approx(), c.BaseName)
	var features []string
	others := 1.0
	hasFeatures := false
	for i := range c.Terms {
		t := &c.Terms[i]
		switch {
		case t.Kind != taskmodel.TermFeature:
		case len(features) < maxNamedFeatures && math.Abs(math.Log(t.Factor)) >= 0.01:
			features, hasFeatures = append(features, featureText(t)), true
		default:
			others *= t.Factor
			hasFeatures = true
		}
	}
	if math.Abs(math.Log(others)) >= 0.01 {
		features = append(features, "everything else about the run "+change(others))
	}
	switch {
	case len(features) > 0:
		addf("For this run, %s. The run is expected to need %s.", strings.Join(features, ", "), c.Expected.Approx())
	case hasFeatures:
		addf("Nothing about the run changes the amount much. The run is expected to need %s.", c.Expected.Approx())
	}
	var steps []string
	for i := range c.Terms {
		t := &c.Terms[i]
		isBound := (t.Kind == taskmodel.TermCap || t.Kind == taskmodel.TermFloor) && t.Factor != 1
		if t.Kind != taskmodel.TermFeature && (isBound || math.Abs(math.Log(t.Factor)) >= 0.001) {
			steps = append(steps, fmt.Sprintf("the %s (%s) %s, which makes %s", t.Kind, t.Name, change(t.Factor), t.After.Approx()))
		}
	}
	if len(steps) > 0 {
		addf("Then %s.", strings.Join(steps, "; "))
	}
	return s
}

func featureText(t *taskmodel.Term) string {
	if t.Value == "" {
		return t.Name + " " + change(t.Factor)
	}
	return fmt.Sprintf("%s (%s) %s", t.Name, t.Value, change(t.Factor))
}

func change(factor float64) string {
	switch {
	case factor >= 2:
		return fmt.Sprintf("multiplies the amount by %.1f", factor)
	case factor > 1:
		return fmt.Sprintf("adds %s %%", percent(factor-1))
	case factor < 0.5:
		return fmt.Sprintf("divides the amount by %.1f", 1/factor)
	}
	return fmt.Sprintf("reduces the amount by %s %%", percent(1-factor))
}

func percent(share float64) string {
	switch p := 100 * share; {
	case p >= 10:
		return fmt.Sprintf("%.0f", p)
	case p >= 1:
		return fmt.Sprintf("%.1f", p)
	case p > 0 && p < 0.0001:
		return "<0.0001" // %g would print an exponent
	default:
		return fmt.Sprintf("%.2g", p)
	}
}

func (e *Explanation) nearestText() string {
	if len(e.Nearest) == 0 {
		return ""
	}
	lowest, highest := e.Nearest[0].Peak, e.Nearest[0].Peak
	killed := 0
	for _, r := range e.Nearest {
		lowest, highest = min(lowest, r.Peak), max(highest, r.Peak)
		if r.Outcome.OOM() {
			killed++
		}
	}
	name := fmt.Sprintf("The %d most similar past runs", len(e.Nearest))
	if len(e.Nearest) == 1 {
		name = "The only comparable past run"
	}
	text := fmt.Sprintf("%s needed %s", name, lowest.Approx())
	if highest > lowest {
		text += " to " + highest.Approx()
	}
	switch {
	case killed > 0 && len(e.Nearest) == 1:
		text += ", or more: it ended in an OOM kill"
	case killed > 0:
		text += fmt.Sprintf(", or more: %d of them ended in an OOM kill", killed)
	}
	return text + "."
}

// killedOf explains the OOM kill of the explained try; nil if it was not killed. `tries` are all tries of its run.
func (e *Explanation) killedOf(tries []sizing.HistoryRow) *KilledTry {
	var k *KilledTry
	for i := range tries {
		if row := &tries[i]; row.Try == e.Try.Number && row.Outcome.OOM() {
			at, _ := row.Peak()
			k = &KilledTry{At: max(at, row.Allocated.Memory)}
		}
	}
	if k == nil {
		return nil
	}
	killedAgain := 0
	for i := range tries {
		row := &tries[i]
		if row.Try <= e.Try.Number {
			continue
		}
		if peak, censoring := row.Peak(); censoring == sizing.Exact {
			k.Needed = max(k.Needed, peak)
		}
		if row.Outcome.OOM() {
			killedAgain++
		}
	}
	e.describeKill(k, killedAgain)
	return k
}

// describeExcess describes a ratio above 1 in words. It gives a ratio below 1.1 in percent, because the first two digits of
// such a ratio would often read as "1 times as much".
func describeExcess(ratio float64) string {
	if ratio < 1.1 {
		return percent(ratio-1) + " % more"
	}
	return fmt.Sprintf("%.2g times as much", ratio)
}

// describeKill sets k.Text, k.WouldHold and k.Rung, and sets k.Needed to 0 if it is not above k.At. killedAgain is the number
// of later kills of the run.
func (e *Explanation) describeKill(k *KilledTry, killedAgain int) {
	text := fmt.Sprintf("The try was OOM-killed at %s.", k.At.Approx())
	above := 0
	for _, r := range e.Nearest {
		if r.Peak > k.At {
			above++
		}
	}
	switch {
	case len(e.Nearest) == 0:
		text += " There was no similar run to learn from."
	case above == 0:
		text += " No similar run needed more: nothing in the features of this run indicated a higher peak."
	case len(e.Nearest) == 1:
		text += " The only comparable past run needed more than that."
	default:
		text += fmt.Sprintf(" %d of the %d most similar runs needed more than that.", above, len(e.Nearest))
	}
	switch killedAgain {
	case 0:
	case 1:
		text += " One later try was killed, too."
	default:
		text += fmt.Sprintf(" %d later tries were killed, too.", killedAgain)
	}
	if k.Needed <= k.At {
		k.Needed = 0
		k.Text = text + fmt.Sprintf(" What would have held is not known: no later try of this run has ended with a measured peak above %s.", k.At.Approx())
		return
	}
	k.WouldHold = k.Needed.RoundUp(sizing.MiB)
	text += fmt.Sprintf(" A later try peaked at %s, %s, so %s would have held", k.Needed.Approx(), describeExcess(float64(k.Needed)/float64(k.At)), k.WouldHold.Approx())
	for i, rung := range e.Ladder {
		if i > 0 && rung >= k.WouldHold {
			k.Rung = i
			text += fmt.Sprintf("; step %d of the ladder (%s) is at least this amount", i, rung.Approx())
			break
		}
	}
	k.Text = text + "."
}
