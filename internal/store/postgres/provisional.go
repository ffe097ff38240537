package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A provisional report is a kill that a lift request reports, or a report of what a lookup of the pod found. A later report that is
// not provisional confirms the provisional one, or replaces it if the two contradict each other. The pod of an OOM kill shows
// its cause, which the reporter of the try may not know, so the kill explains a failure that is reported before or after it.

const deleteSQL = `DELETE FROM observation WHERE task = $1 AND seq = $2`

func (old *storedReport) replacedBy(r *report) bool {
	if !old.Provisional || r.Provisional {
		return false
	}
	_, c := old.merge(r)
	return c.contradiction != nil
}

// replace replaces the provisional report `old` by the report with index i. The new row has a new seq,
// so that every replica reads it. It gets the stored values that the report omits, such as the sampled peak, because the try is
// not looked up again. If the pod was OOM-killed and the report does not name the cause, the new row is an OOM kill.
func (s *Store) replace(ctx context.Context, tx pgx.Tx, old *storedReport, reports []report, i int, recorded []sizing.RecordResult) error {
	r := &reports[i]
	isExplained := old.explains(r)
	if isExplained {
		r.Outcome, r.provisional = old.Outcome, true
	}
	if r.features == nil || r.InheritsFeatures && old.features != nil {
		r.features = old.features
	}
	r.MemoryMax = cmp.Or(r.MemoryMax, old.MemoryMax)
	r.MemorySampled = cmp.Or(r.MemorySampled, old.MemorySampled)
	r.CPUMax = cmp.Or(r.CPUMax, old.CPUMax)
	if r.Duration == 0 && r.StartedAt.IsZero() && r.EndedAt.IsZero() { // values of two sources may contradict each other
		r.Duration, r.StartedAt, r.EndedAt = old.Duration, old.StartedAt, old.EndedAt
	}
	r.Allocated.Memory = cmp.Or(r.Allocated.Memory, old.Allocated.Memory)
	r.Allocated.CPU = cmp.Or(r.Allocated.CPU, old.Allocated.CPU)
	r.Requested.Memory = cmp.Or(r.Requested.Memory, old.Requested.Memory)
	r.Requested.CPU = cmp.Or(r.Requested.CPU, old.Requested.CPU)
	r.PredictionID = cmp.Or(r.PredictionID, old.PredictionID)
	r.RunScore = cmp.Or(r.RunScore, old.RunScore)
	replaced := old.Observation
	if _, err := tx.Exec(ctx, deleteSQL, old.task, old.seq); err != nil {
		return err
	}
	if _, err := s.insert(ctx, tx, reports, []int{i}, recorded); err != nil {
		return err
	}
	recorded[i].Amended, recorded[i].Replaced, recorded[i].Explained = true, &replaced, isExplained
	*old = newStoredReport(r, recorded[i].Seq)
	return nil
}

// isFromLift reports whether the report comes from a lift request. Such a report has neither a peak nor a time, unlike the
// report of a lookup.
func (r *report) isFromLift() bool {
	return r.Provisional && r.MemoryMax == 0 && r.MemorySampled == 0 && r.StartedAt.IsZero() && r.EndedAt.IsZero()
}

// explains reports whether the stored report is an OOM kill that a lookup of the pod found, and r a failure of the same try that
// may be this kill. A kill that only a lift request has reported has no times, and explains nothing.
func (old *storedReport) explains(r *report) bool {
	isLookedUp := old.Provisional && (!old.StartedAt.IsZero() || !old.EndedAt.IsZero())
	return isLookedUp && old.Outcome == sizing.OOMKilled && r.Outcome.MayBeOOM()
}

// isExplainedBy reports whether the stored report is a failure, and r the OOM kill that a lookup of its pod found.
func (old *storedReport) isExplainedBy(r *report) bool {
	return old.Outcome.MayBeOOM() && r.Outcome == sizing.OOMKilled && r.Provisional && !r.isFromLift()
}

// compareLift returns the result of a lift request for a stored try. The request changes nothing. Only a stored success
// contradicts it; the other values of the request are not compared, because they may be estimates, or newer than the report.
func (old *storedReport) compareLift(r *report) sizing.RecordResult {
	if old.Outcome == sizing.Success {
		c := &comparison{}
		c.addContradiction("outcome", old.Outcome, r.Outcome)
		return sizing.RecordResult{Seq: old.seq, Err: c.contradiction}
	}
	return sizing.RecordResult{Seq: old.seq, Duplicate: true, Allocated: old.Allocated.Memory}
}
