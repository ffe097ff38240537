package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func datedRows(n int) sizing.Features {
	return sizing.Features{
		"product_count": sizing.NumberValue(float64(1000 + 40*n)), "region": sizing.TextValue([]string{"emea", "apac"}[n%2]),
		"execution_date": sizing.TextValue(time.Date(2020, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)),
	}
}

func TestAPredictionWarnsOfFeaturesThatTheModelDoesNotUse(t *testing.T) {
	r := newReplica(t)
	var reports []sizing.Observation
	for i := range 60 {
		reports = append(reports, sizing.Observation{
			Try: try("demand", fmt.Sprint("run-", i), 1), Outcome: sizing.Success, MemoryMax: gib + sizing.Bytes(i)*40*sizing.MiB,
			Allocated: sizing.Resources{Memory: 64 * gib}, Features: datedRows(i),
		})
	}
	r.report(reports...)
	_, err := r.Train(t.Context(), task("demand"))
	require.NoError(t, err)
	demand := func(change func(sizing.Features)) sizing.Ask {
		a := sizing.Ask{Try: try("demand", "", 1), Features: datedRows(30)}
		change(a.Features)
		return a
	}
	unchanged := r.predict(demand(func(sizing.Features) {}))
	assert.Empty(t, unchanged.Warnings)
	absent := r.predict(demand(func(f sizing.Features) { delete(f, "product_count") }))
	assert.Empty(t, absent.Warnings, "the reason names a feature that was not sent, so there is no warning about it")

	for range 3 { // the third answer comes from the memo of recent answers
		odd := r.predict(demand(func(f sizing.Features) {
			f["product_count"] = sizing.TextValue("abc")
			f["execution_date"] = sizing.TextValue("04/12/2020")
		}))
		assert.Equal(t, []sizing.FieldError{
			{Field: "features.execution_date", Detail: `"04/12/2020" is a category, and this feature is a date: it counts as missing; send a date, or leave it out`},
			{Field: "features.product_count", Detail: `"abc" is a category, and this feature is a number: it counts as missing; send a number, or leave it out`},
		}, odd.Warnings)
		assert.Contains(t, odd.Reason, "product_count was sent as a category, and is a number")
		assert.NotContains(t, odd.Reason, "abc")
	}
	assert.NotContains(t, r.predict(demand(func(f sizing.Features) { delete(f, "product_count") })).Reason, "was sent")

	isBool := func(f sizing.Features) { f["product_count"] = sizing.BoolValue(true) }
	assert.Equal(t, []sizing.FieldError{
		{Field: "features.product_count", Detail: "true is a bool, and this feature is a number: it counts as 1; send a number, or leave it out"},
	}, r.predict(demand(isBool)).Warnings)

	misspelled := demand(func(f sizing.Features) {
		f["prodct_count"] = f["product_count"]
		delete(f, "product_count")
	})
	want := []sizing.FieldError{{
		Field: "features.prodct_count", Detail: "is not used: no learned run of this task has a feature of this name; missing: product_count",
	}}
	assert.Equal(t, want, r.predict(misspelled).Warnings)
	explained, err := r.Explain(t.Context(), &misspelled)
	require.NoError(t, err)
	assert.Equal(t, want, explained.Allocation.Warnings)
}

// If reports have other values than the predictions of their tries, the promised risks are wrong, so the reporter must know.
func TestAReportWarnsOfFeaturesThatDifferFromThePrediction(t *testing.T) {
	r := newReplica(t)
	report := func(run string, f sizing.Features) []sizing.FieldError {
		r.predict(sizing.Ask{Try: try("demand", run, 1), Requested: sizing.Resources{Memory: 4 * gib}, Features: datedRows(1)})
		results := r.report(sizing.Observation{Try: try("demand", run, 1), Outcome: sizing.Success, MemoryMax: gib, Allocated: sizing.Resources{Memory: 4 * gib}, Features: f})
		return results[0].Warnings
	}
	assert.Empty(t, report("same", datedRows(1)))
	assert.Empty(t, report("none", nil))
	assert.Empty(t, report("more", sizing.Features{"written_rows": sizing.NumberValue(5), "region": sizing.Value{}}))
	assert.Equal(t, []sizing.FieldError{
		{Field: "features.product_count", Detail: "is 990 here and 1040 in the prediction of the try: the models learn 990, but predict from values like 1040; send the same value, or leave the features out of the report"},
		{Field: "features.region", Detail: "is emea here and apac in the prediction of the try: the models learn emea, but predict from values like apac; send the same value, or leave the features out of the report"},
	}, report("other", sizing.Features{"product_count": sizing.NumberValue(990), "region": sizing.TextValue("emea")}))
}
