package postgres

// The promise of a receipt is the probability of an OOM kill with the static grant, which is the limit of the
// receipt (task_limit). A memory plan may keep the limit of the try below the static grant. A kill below the
// static grant says nothing about the promise.

// isPlanned selects the receipts with a memory plan. Compact receipts have no plan.
const isPlanned = `coalesce(body -> 'Allocation' -> 'Plan' ->> 'Mode' = 'memory', false)`

// isKilledBelow selects the OOM kills (outcomes 2 and 3) at an allocation below the limit of the receipt, with
// a tolerance of 1 %; see sizing.IsBelowStatic.
const isKilledBelow = `outcome IN (2, 3) AND allocated_memory * 1.01 < task_limit`

// comparedPromise is the promise of a receipt. It is NaN without a promise, and for a kill below the static
// grant of a plan. It reads the large body only of receipts of kills below the limit.
const comparedPromise = `CASE WHEN CASE WHEN ` + isKilledBelow + ` THEN ` + isPlanned + ` ELSE false END THEN 'NaN' ELSE coalesce(promised, 'NaN') END`

// isCompared selects the first tries of the task $1, $2, $3 whose outcome is compared with the promise.
const isCompared = `
		AND CASE WHEN ` + isKilledBelow + ` THEN NOT EXISTS (
			SELECT FROM receipt
			WHERE receipt.namespace = $1 AND receipt.dag_id = $2 AND receipt.task_id = $3
				AND receipt.prediction_id = first_try.prediction_id AND ` + isPlanned + `) ELSE true END`
