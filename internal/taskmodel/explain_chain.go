package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// TermKind classifies one factor of an explanation.
type TermKind string

// Kinds of terms.
const (
	TermFeature  TermKind = "feature"  // the effect of a feature, of a fact about the task, of identical runs or of recent errors on the expected peak
	TermMargin   TermKind = "margin"   // the safety margin above the expected peak
	TermPool     TermKind = "pool"     // a correction from the kills of the tasks of the DAG and of the namespace's other DAGs
	TermHeadroom TermKind = "headroom" // the headroom above the peaks of identical runs
	TermCeiling  TermKind = "ceiling"  // an upper bound other than the cap, such as the static request; also a bound that keeps the prediction near known peaks
	TermGuard    TermKind = "guard"    // the factor of the guard
	TermCohort   TermKind = "cohort"   // the amount that similar tasks need
	TermLift     TermKind = "lift"     // a larger amount because of OOM kills
	TermFloor    TermKind = "floor"    // the policy's floor, the minimum grant, or a lower bound whose rule is not known
	TermCap      TermKind = "cap"      // the cap, or an upper bound whose rule is not known (receipts do not record it)
	TermRounding TermKind = "rounding" // rounding to whole MiB or to bins
)

// Term is one factor between the base and the grant.
type Term struct {
	Kind   TermKind
	Name   string       // the feature or the rule, for people
	Value  string       // value of a feature or fact, or a detail such as "3 runs"; "" if the term has none
	Factor float64      // positive
	After  sizing.Bytes // Base times all factors up to this one, rounded; at most sizing.MaxBytes
}

// Explanation splits one grant into a base and factors: Base · Π Factor = Granted, except for a rounding error in the
// sixteenth digit.
type Explanation struct {
	Granted  sizing.Bytes
	Base     sizing.Bytes // the amount without any term
	BaseName string       // description of Base
	// Expected is the expected peak, before margins. If ExplainReceipt does not know this peak, Expected is the amount before
	// guard and bounds. Expected is zero if no model predicts or if Terms is empty.
	Expected sizing.Bytes
	Terms    []Term
}

// chain collects the terms of an Explanation, as differences of the logarithms of amounts in bytes.
type chain struct {
	base      float64 // the log of Explanation.Base in bytes
	name      string  // Explanation.BaseName
	logAmount float64 // the log of the amount after the terms so far

	expected float64 // the log of the expected peak; zero: no model predicts

	logs  []float64 // the log of the factor of each term
	terms []Term
}

// startChain returns a chain without terms. base is the logarithm of an amount in bytes.
func startChain(name string, base float64) *chain {
	base = max(-maxLogAmount, min(base, maxLogAmount))
	return &chain{base: base, name: name, logAmount: base}
}

// maxLogAmount bounds the magnitude of the log amounts of a chain. A single effect of a very large input may exceed it,
// although other effects cancel it out or a bound limits it. maxLogAmount is far outside all amounts, and the ratio of any two
// bounded amounts is a finite number.
const maxLogAmount = 300

// negligibleLog is the log factor below which a term is omitted: it changes a GiB by far less than a byte.
const negligibleLog = 1e-12

func (c *chain) add(kind TermKind, name, value string, log float64) {
	if math.Abs(log) < negligibleLog || math.IsNaN(log) {
		return
	}
	if after := c.logAmount + log; math.Abs(after) > maxLogAmount {
		log = math.Copysign(maxLogAmount, after) - c.logAmount
	}
	c.logAmount += log
	c.logs = append(c.logs, log)
	c.terms = append(c.terms, Term{Kind: kind, Name: name, Value: value})
}

// moveTo adds the term that changes the amount of the chain to `amount`, which is in bytes. It does nothing if amount is not
// positive.
func (c *chain) moveTo(kind TermKind, name string, amount float64) {
	if amount > 0 {
		c.add(kind, name, "", math.Log(amount)-c.logAmount)
	}
}

// finish converts the chain to an explanation. Base is a whole number of bytes, and the last factor
// absorbs all rounding, so that the product is the granted amount.
func (c *chain) finish(granted sizing.Bytes) Explanation {
	e := Explanation{Granted: granted, Base: sizing.Bytes(max(1, math.Round(min(math.Exp(c.base), sizing.MaxBytes)))), BaseName: c.name, Terms: c.terms}
	if len(c.terms) == 0 {
		e.Base = granted
		return e
	}
	if c.expected > 0 {
		e.Expected = sizing.Bytes(math.Round(min(math.Exp(c.expected), sizing.MaxBytes)))
	}
	product, log := float64(e.Base), c.base
	for i := range e.Terms {
		term := &e.Terms[i]
		log += c.logs[i]
		term.Factor = math.Exp(log) / product
		if i == len(e.Terms)-1 {
			term.Factor = float64(granted) / product
		}
		product *= term.Factor
		term.After = sizing.Bytes(math.Round(min(product, sizing.MaxBytes)))
	}
	return e
}
