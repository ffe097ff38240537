package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// ReplicatedStore is a store with a streaming standby of its database. Lists of tasks and their owners,
// recent tries and runs, usage series, the usage and the peaks of tasks, savings, experiments and the audit trail come
// from the standby while it is fresh: it has replayed all that the primary wrote until maxReplicaLag ago, and
// the changes below. Otherwise, or if the standby fails, they come from the primary. Everything else always
// comes from the primary, such as what predictions, training and reports need, single tasks, policies, receipts
// and campaigns.
//
// After SetPolicy, Activate and the other changes in replicawrites.go through this process, reads stay on the
// primary until the standby has replayed the change. A change through another process, and a report, may be
// missing from a list for about maxReplicaLag.
type ReplicatedStore struct {
	*Store  // the primary
	standby *Store

	lastErr string // text of the error of the last check; "" if there was none

	mu      sync.Mutex
	isFresh bool          // the standby serves reads
	writes  int           // changes so far; see invalidate
	samples []walPosition // positions of the primary from the last maxReplicaLag and after the last change, oldest first
}

// walPosition is the end of the primary's WAL at a time, in bytes.
type walPosition struct {
	at   time.Time
	last int64
}

const (
	maxReplicaLag   = 10 * time.Second // the largest lag of a standby that serves reads, and thus about the largest age of a list
	replicaInterval = time.Second      // pause between two checks
)

// OpenReplicated adds a standby to a store. Like Open it does not connect; Check or Watch must be called
// before the first read from the standby.
func OpenReplicated(ctx context.Context, primary *Store, dsn string, cfg Config) (*ReplicatedStore, error) {
	if _, err := pgxpool.ParseConfig(dsn); err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "DATABASE_REPLICA_URL is malformed; write postgres://user:password@host:5432/database: %w", err)
	}
	standby, err := Open(ctx, dsn, cfg)
	if err != nil {
		return nil, err
	}
	return &ReplicatedStore{Store: primary, standby: standby}, nil
}

// CloseReplica closes the connections to the standby. Reads come from the primary afterwards.
func (r *ReplicatedStore) CloseReplica() {
	r.mu.Lock()
	r.isFresh = false
	r.mu.Unlock()
	r.standby.Close()
}

// Watch checks the standby every second until ctx ends.
func (r *ReplicatedStore) Watch(ctx context.Context) {
	for {
		err := r.Check(ctx)
		if ctx.Err() != nil {
			return
		}
		r.logChange(err)
		if sleep(ctx, replicaInterval) != nil {
			return
		}
	}
}

func (r *ReplicatedStore) logChange(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == r.lastErr:
		return
	case err != nil:
		r.cfg.Log.Warn("the standby of DATABASE_REPLICA_URL serves no reads", "err", err)
	case !r.servesReads(): // because of a change during the check: the next check decides
		return
	default:
		r.cfg.Log.Info("the standby of DATABASE_REPLICA_URL serves reads")
	}
	r.lastErr = text
}

func (r *ReplicatedStore) servesReads() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isFresh
}

var errLagging = errors.New("the standby has not replayed what the primary wrote")

// Check decides whether the standby serves reads until the next check, and returns an error if it serves none. There is
// one exception: if the standby answers, but this process made one of the changes in replicawrites.go during the check,
// Check returns nil, and reads stay on the primary until the next check.
func (r *ReplicatedStore) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	r.mu.Lock()
	writes := r.writes
	r.mu.Unlock()
	var last int64 // read before replayed, so that what the primary writes between the two reads does not count as lag
	primaryErr := r.pool.QueryRow(ctx, "SELECT (pg_current_wal_lsn() - '0/0')::bigint").Scan(&last)
	now := time.Now()
	var replayed *int64
	err := r.standby.pool.QueryRow(ctx, "SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint").Scan(&replayed)
	if err == nil && replayed == nil {
		err = errors.New("DATABASE_REPLICA_URL is no standby; name a streaming standby of DATABASE_URL")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.isFresh = false
		return wrapError("check the standby", err)
	}
	if writes != r.writes { // a change during this check: the next check decides
		return nil
	}
	if primaryErr == nil {
		r.samples = append(r.samples, walPosition{now, last})
		r.samples = slices.DeleteFunc(r.samples, func(p walPosition) bool { return now.Sub(p.at) > maxReplicaLag })
	}
	// While the primary is down, the last samples decide, because an old list is better than none.
	r.isFresh = len(r.samples) > 0 && *replayed >= r.samples[0].last
	switch {
	case r.isFresh:
		return nil
	case len(r.samples) == 0: // the primary failed, because a success adds a sample
		return wrapError("read the position of the primary, without which the lag of the standby is unknown", primaryErr)
	}
	return errLagging
}

// invalidate sends reads to the primary until the standby has replayed all changes so far.
func (r *ReplicatedStore) invalidate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isFresh, r.samples = false, nil
	r.writes++
}

func preferStandby[T any](ctx context.Context, r *ReplicatedStore, read func(*Store) (T, error)) (T, error) {
	if r.servesReads() {
		result, err := read(r.standby)
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		if sizing.KindOf(err) == sizing.Unavailable {
			r.mu.Lock()
			r.isFresh = false
			r.mu.Unlock()
		}
	}
	return read(r.Store)
}

// Tasks reads from the standby.
func (r *ReplicatedStore) Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return preferStandby(ctx, r, func(s *Store) ([]sizing.Profile, error) { return s.Tasks(ctx, namespace, after, limit) })
}

// TasksBrief reads from the standby.
func (r *ReplicatedStore) TasksBrief(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	return preferStandby(ctx, r, func(s *Store) ([]sizing.Profile, error) { return s.TasksBrief(ctx, namespace, after, limit) })
}

// Owners reads from the standby.
func (r *ReplicatedStore) Owners(ctx context.Context, namespace string) (map[sizing.TaskKey]string, error) {
	return preferStandby(ctx, r, func(s *Store) (map[sizing.TaskKey]string, error) { return s.Owners(ctx, namespace) })
}

// RecentTries reads from the standby.
func (r *ReplicatedStore) RecentTries(ctx context.Context, task sizing.TaskKey, limit int) (sizing.History, error) {
	return preferStandby(ctx, r, func(s *Store) (sizing.History, error) { return s.RecentTries(ctx, task, limit) })
}

// TriesBefore reads from the standby.
func (r *ReplicatedStore) TriesBefore(ctx context.Context, task sizing.TaskKey, end time.Time, limit int) (sizing.History, error) {
	return preferStandby(ctx, r, func(s *Store) (sizing.History, error) { return s.TriesBefore(ctx, task, end, limit) })
}

// RecentTriesOf reads from the standby.
func (r *ReplicatedStore) RecentTriesOf(ctx context.Context, namespace, dag string, tasks []string, limit int) (map[string]sizing.History, error) {
	return preferStandby(ctx, r, func(s *Store) (map[string]sizing.History, error) {
		return s.RecentTriesOf(ctx, namespace, dag, tasks, limit)
	})
}

// NewestRuns reads from the standby.
func (r *ReplicatedStore) NewestRuns(ctx context.Context, namespace, dag string, tasks []string, limits store.RunLimits) (map[string]store.TaskRuns, error) {
	return preferStandby(ctx, r, func(s *Store) (map[string]store.TaskRuns, error) {
		return s.NewestRuns(ctx, namespace, dag, tasks, limits)
	})
}

// Series reads from the standby.
func (r *ReplicatedStore) Series(ctx context.Context, try sizing.TryKey) (sizing.Series, error) {
	return preferStandby(ctx, r, func(s *Store) (sizing.Series, error) { return s.Series(ctx, try) })
}

// SavingsSums reads from the standby.
func (r *ReplicatedStore) SavingsSums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) ([]store.SavingsSum, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.SavingsSum, error) { return s.SavingsSums(ctx, f, by) })
}

// Baselines reads from the standby.
func (r *ReplicatedStore) Baselines(ctx context.Context, f store.SavingsFilter) ([]store.Baseline, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.Baseline, error) { return s.Baselines(ctx, f) })
}

// TaskUsage reads from the standby.
func (r *ReplicatedStore) TaskUsage(ctx context.Context, namespace string) ([]sizing.Usage, error) {
	return preferStandby(ctx, r, func(s *Store) ([]sizing.Usage, error) { return s.TaskUsage(ctx, namespace) })
}

// PeakSample reads from the standby.
func (r *ReplicatedStore) PeakSample(ctx context.Context, task sizing.TaskKey, limit int) ([]store.PeakRow, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.PeakRow, error) { return s.PeakSample(ctx, task, limit) })
}

// Runs reads from the standby.
func (r *ReplicatedStore) Runs(ctx context.Context, before int64, limit int) ([]store.Run, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.Run, error) { return s.Runs(ctx, before, limit) })
}

// Run reads from the standby.
func (r *ReplicatedStore) Run(ctx context.Context, idOrName string) (store.Run, error) {
	return preferStandby(ctx, r, func(s *Store) (store.Run, error) { return s.Run(ctx, idOrName) })
}

// RunModels reads from the standby.
func (r *ReplicatedStore) RunModels(ctx context.Context, id int64) ([]store.RunModel, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.RunModel, error) { return s.RunModels(ctx, id) })
}

// Audit reads from the standby.
func (r *ReplicatedStore) Audit(ctx context.Context, f store.AuditFilter, limit int) ([]store.AuditEntry, error) {
	return preferStandby(ctx, r, func(s *Store) ([]store.AuditEntry, error) { return s.Audit(ctx, f, limit) })
}
