package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/loadaware/loadaware/internal/sizing"
)

// SaveReceipts stores all receipts or none. It uses COPY, which takes half the time of INSERT. If
// a receipt is already stored, because the result of an earlier write was lost, it falls back to
// INSERT and skips the stored receipts.
func (s *Store) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	from, err := s.compactStart(ctx)
	if err != nil {
		return wrapError("save receipts", err)
	}
	s.vocabularies.mu.Lock()
	defer s.vocabularies.mu.Unlock()
	for attempt := 1; ; attempt++ {
		err = s.saveReceipts(ctx, receipts, from)
		if !errors.Is(err, errStale) || attempt == maxAttempts {
			return err
		}
	}
}

// receiptFormat caches the time from which receipts are stored in the compact form (compact.go). The time never
// changes.
type receiptFormat struct {
	mu   sync.Mutex
	from *time.Time // nil before the first read
}

const compactFromSQL = `
	SELECT compact_from FROM receipt_format`

func (s *Store) compactStart(ctx context.Context) (time.Time, error) {
	s.format.mu.Lock()
	defer s.format.mu.Unlock()
	if s.format.from != nil {
		return *s.format.from, nil
	}
	var from pgtype.Timestamptz
	if err := s.pool.QueryRow(ctx, compactFromSQL).Scan(&from); err != nil {
		return time.Time{}, err
	}
	start := from.Time
	switch from.InfinityModifier {
	case pgtype.NegativeInfinity:
		start = time.Time{}
	case pgtype.Infinity:
		start = time.Unix(1<<40, 0)
	}
	s.format.from = &start
	return start, nil
}

// saveReceipts stores receipts in the compact form if they are not older than `from` and the form can
// hold them, and otherwise as JSON. It returns errStale if a task was renamed or deleted since it was cached.
// The caller holds s.vocabularies.mu.
func (s *Store) saveReceipts(ctx context.Context, receipts []sizing.Receipt, from time.Time) error {
	byTask := map[sizing.TaskKey]*vocabulary{}
	var last *sizing.TaskKey // many successive receipts have the same task
	for i := range receipts {
		if task := &receipts[i].Ask.Try.TaskKey; !receipts[i].At.Before(from) && (last == nil || *task != *last) {
			byTask[*task], last = nil, task
		}
	}
	if err := s.loadVocabularies(ctx, byTask); err != nil {
		return wrapError("save receipts", err)
	}
	buffer := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(buffer)
	compact, others := compactAll(receipts, byTask, from, buffer)
	bodyBuffer := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(bodyBuffer)
	bodies, err := encodeBodies(others, bodyBuffer)
	if err != nil {
		return err
	}
	var stored []*sizing.Receipt
	write := func(copyCompact func(context.Context, pgx.Tx, []compactRow) error, copyJSON func(context.Context, pgx.Tx, []sizing.Receipt, [][]byte) error) error {
		return s.inTx(ctx, "save receipts", readWrite, func(tx pgx.Tx) error {
			if len(compact) > 0 {
				if err := s.checkNames(ctx, tx, byTask); err != nil {
					return err
				}
				if err := copyCompact(ctx, tx, compact); err != nil {
					return err
				}
			}
			if len(others) > 0 {
				if err := copyJSON(ctx, tx, others, bodies); err != nil {
					return err
				}
			}
			var err error
			stored, err = s.storeRequests(ctx, tx, receipts)
			return err
		})
	}
	err = write(copyCompact, copyReceipts)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "23505" { // unique_violation: a receipt is already stored
		err = write(insertCompact, insertReceipts)
	}
	if err != nil {
		return err
	}
	s.rememberRequests(stored)
	if err := s.addWords(ctx, byTask); err != nil {
		s.cfg.Log.WarnContext(ctx, "failed to store new words of receipts; receipts take more space until a later write stores them", "err", err)
	}
	return nil
}

type compactRow struct {
	*sizing.Receipt
	id      uuid.UUID // the prediction id
	name    int32     // id of the task in receipt_name
	content []byte
}

func compactAll(receipts []sizing.Receipt, byTask map[sizing.TaskKey]*vocabulary, from time.Time, buffer *[]byte) (compact []compactRow, others []sizing.Receipt) {
	w := compactWriter{b: (*buffer)[:0]}
	var ends []int
	var task *sizing.TaskKey // of the previous receipt
	for _, i := range orderByID(receipts) {
		r := &receipts[i]
		id, err := uuid.Parse(r.Allocation.PredictionID)
		if task == nil || *task != r.Ask.Try.TaskKey {
			task = &r.Ask.Try.TaskKey
			w.words = byTask[*task]
		}
		start := len(w.b)
		// Another notation of a UUID would be read back in the standard notation.
		if err != nil || id.String() != r.Allocation.PredictionID || r.At.Before(from) || !w.encode(r) {
			w.b = w.b[:start]
			others = append(others, *r)
			continue
		}
		compact = append(compact, compactRow{Receipt: r, id: id, name: w.words.id})
		ends = append(ends, len(w.b))
	}
	*buffer = w.b
	start := 0
	for i, end := range ends {
		compact[i].content, start = w.b[start:end], end
	}
	return compact, others
}

const checkNamesSQL = `
	SELECT id, namespace, dag_id, task_id
	FROM receipt_name WHERE id = ANY ($1)
	ORDER BY id -- the same order for all writers prevents deadlocks
	FOR KEY SHARE`

// checkNames locks the tasks' rows in receipt_name against rename and deletion. If the row of a cached
// vocabulary was renamed or deleted, checkNames clears the cache and returns errStale.
func (s *Store) checkNames(ctx context.Context, tx pgx.Tx, byTask map[sizing.TaskKey]*vocabulary) error {
	ids := make([]int32, 0, len(byTask))
	for v := range maps.Values(byTask) {
		ids = append(ids, v.id)
	}
	slices.Sort(ids)
	rows, err := tx.Query(ctx, checkNamesSQL, ids)
	if err != nil {
		return err
	}
	var id int32
	var key sizing.TaskKey
	stored := 0
	_, err = pgx.ForEachRow(rows, []any{&id, &key.Namespace, &key.DAG, &key.Task}, func() error {
		if v := byTask[key]; v != nil && v.id == id {
			stored++
		}
		return nil
	})
	if err == nil && stored < len(byTask) {
		clear(s.vocabularies.byTask)
		err = errStale
	}
	return err
}

var compactColumns = []string{
	"prediction_id", "at", "promised", "task_limit", "told", "name", "map_index", "model_version", "try_number", "run_id", "content",
}

// copyCompact stores compact receipts by COPY. It fails with a unique_violation if a receipt is already stored.
func copyCompact(ctx context.Context, tx pgx.Tx, receipts []compactRow) error {
	values := make([]any, len(compactColumns))
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"receipt_compact"}, compactColumns, pgx.CopyFromSlice(len(receipts), func(i int) ([]any, error) {
		r := &receipts[i]
		a, try := &r.Allocation, &r.Ask.Try
		return append(values[:0], [16]byte(r.id), r.At, a.Risk.Promised, int64(a.Memory.Limit), a.Guard.Version, r.name, int32(try.MapIndex),
			nullVersion(a), int16(try.Number), try.RunID, r.content), nil
	}))
	return err
}

const insertCompactSQL = `
	INSERT INTO receipt_compact (prediction_id, at, promised, task_limit, told, name, map_index, model_version, try_number, run_id, content)
	SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::float8[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], $8::int[], $9::smallint[], $10::text[], $11::bytea[])
	ON CONFLICT (prediction_id) DO NOTHING`

func insertCompact(ctx context.Context, tx pgx.Tx, receipts []compactRow) error {
	rows := pointers(receipts)
	_, err := tx.Exec(ctx, insertCompactSQL,
		column(rows, func(r *compactRow) [16]byte { return r.id }),
		column(rows, func(r *compactRow) time.Time { return r.At }),
		column(rows, func(r *compactRow) *float64 { return r.Allocation.Risk.Promised }),
		column(rows, func(r *compactRow) int64 { return int64(r.Allocation.Memory.Limit) }),
		column(rows, func(r *compactRow) int64 { return r.Allocation.Guard.Version }),
		column(rows, func(r *compactRow) int32 { return r.name }),
		column(rows, func(r *compactRow) int32 { return int32(r.Ask.Try.MapIndex) }),
		column(rows, func(r *compactRow) *int32 { return nullVersion(&r.Allocation) }),
		column(rows, func(r *compactRow) int16 { return int16(r.Ask.Try.Number) }),
		column(rows, func(r *compactRow) string { return r.Ask.Try.RunID }),
		column(rows, func(r *compactRow) []byte { return r.content }))
	return err
}
