package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
)

// fullReceipt returns a receipt as the service writes it for an answer by a model with ten features.
func fullReceipt(r *rand.Rand, i int) sizing.Receipt {
	key := sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: fmt.Sprint("extract_prices_", i%30)}
	promised, limit := r.Float64(), sizing.Bytes(r.IntN(1<<20))<<12
	receipt := sizing.Receipt{
		At: time.Now().UTC(),
		Ask: sizing.Ask{
			Try:       sizing.TryKey{TaskKey: key, RunID: fmt.Sprint("emea__2019-12-23__", i), MapIndex: 1, Number: 1},
			Features:  sizing.Features{},
			Requested: sizing.Resources{Memory: 20_000_000_000}, MaxMemory: 128_000_000_000,
		},
		Allocation: sizing.Allocation{
			PredictionID: uuid.Must(uuid.NewV7()).String(), Task: key, Memory: sizing.Grant{Request: limit, Limit: limit}, CPU: 1,
			Duration: &sizing.Duration{Median: 95435 * time.Millisecond, P95: 328280 * time.Millisecond},
			Bins:     &sizing.BinChoice{Upper: []sizing.Bytes{limit, 2 * limit, 3 * limit, 4 * limit}, Probabilities: []float64{r.Float64(), r.Float64(), r.Float64(), r.Float64()}, Chosen: 1},
			Ladder:   []sizing.Bytes{limit, 2 * limit, 128_000_000_000}, Risk: sizing.Risk{Promised: &promised, Target: 0.015}, Source: sizing.FromModel, Mode: sizing.Enforce,
			Model:  &sizing.ModelRef{Version: 2, Family: "experts", Observations: 38, TrainedAt: time.Unix(1_700_000_000, 264_493_000).UTC()},
			Reason: fmt.Sprintf("%dMi: a Bayesian average of simple models; from product_count, market, department; 58 runs; saves %.1fGi of the 18.6Gi requested", r.IntN(2000), 20*r.Float64()),
			Guard:  sizing.Guard{Version: int64(i), Params: []float64{float64(limit) + r.Float64(), promised, r.Float64(), 1, -1}},
		},
	}
	for range 11 {
		receipt.Allocation.Guard.Params = append(receipt.Allocation.Guard.Params, 20+r.Float64())
	}
	for _, name := range []string{"market", "department", "channel", "season", "region"} {
		receipt.Ask.Features[name] = sizing.TextValue(name + fmt.Sprint(r.IntN(5)))
	}
	for _, name := range []string{"product_count", "store_count"} {
		receipt.Ask.Features[name] = sizing.NumberValue(float64(r.IntN(2000)))
	}
	for _, name := range []string{"sale_start", "sale_end", "execution_date"} {
		receipt.Ask.Features[name] = sizing.TextValue(time.Unix(86400*int64(r.IntN(20000)), 0).UTC().Format(time.DateOnly))
	}
	return receipt
}

func BenchmarkSaveReceipts(b *testing.B) {
	const batch = 2000
	for round := range 3 {
		for form, compactFrom := range map[string]string{"JSON": "infinity", "compact": "-infinity"} {
			b.Run(fmt.Sprint(form, " ", round), func(b *testing.B) {
				dsn := pgtest.Migrated(b)
				st := openWithCompactFrom(b, dsn, compactFrom)
				r := rand.New(rand.NewPCG(1, 1))
				n := 0
				for b.Loop() {
					b.StopTimer()
					receipts := make([]sizing.Receipt, batch)
					for i := range receipts {
						receipts[i] = fullReceipt(r, n)
						n++
					}
					b.StartTimer()
					require.NoError(b, st.SaveReceipts(b.Context(), receipts))
				}
				var size float64
				require.NoError(b, connect(b, dsn).QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(relid)) FROM (
					SELECT relid FROM pg_partition_tree('receipt') UNION ALL SELECT relid FROM pg_partition_tree('receipt_compact')
					UNION ALL SELECT unnest(ARRAY['receipt_name'::regclass, 'receipt_word'::regclass])) AS tables`).Scan(&size))
				b.ReportMetric(size/float64(n), "B/receipt")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/receipt")
			})
		}
	}
}
