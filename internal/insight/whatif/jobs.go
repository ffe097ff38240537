package whatif

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// State is the state of a job.
type State string

// The states.
const (
	Running State = "running" // the job waits or runs
	Done    State = "done"
	Failed  State = "failed" // ended with an error, after its time limit, or because it was cancelled
)

// Job answers one question.
type Job struct {
	ID   string
	Task sizing.TaskKey // if Task.Task is empty: the tasks of the DAG, up to the limit of Service.TasksOf

	done   chan struct{} // closed at the end of the job
	cancel context.CancelFunc

	mu           sync.Mutex
	lastStatusAt time.Time // time of the start or of the last Status call
	progress     float64   // share of the work that is done
	report       *Report
	err          error
	ended        time.Time // zero while the job waits or runs
}

// Status returns the state, the share of the work that is done, and the report or the error.
func (j *Job) Status() (state State, progress float64, report *Report, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lastStatusAt = time.Now()
	switch {
	case j.ended.IsZero():
		return Running, j.progress, nil, nil
	case j.err != nil:
		return Failed, j.progress, nil, j.err
	}
	return Done, 1, j.report, nil
}

// Wait returns when the job has ended, when the time `timeout` has passed, or when ctx ends.
func (j *Job) Wait(ctx context.Context, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Jobs runs questions in the background, one at a time. The results of jobs that are not
// cancelled stay in the memory of this replica for at least resultTTL.
type Jobs struct {
	svc  *service.Service
	slot chan struct{} // contains a token while a job runs

	mu   sync.Mutex
	jobs map[string]*Job // by id
}

// NewJobs returns a Jobs without a job.
func NewJobs(svc *service.Service) *Jobs {
	return &Jobs{svc: svc, slot: make(chan struct{}, 1), jobs: map[string]*Job{}}
}

// Start answers a question in the background and returns its job. The error is NotFound if the task is
// unknown, Invalid if a field is invalid or if q.Set has a name that is no feature of the task, and Exhausted
// if maxJobs questions wait or run.
func (s *Jobs) Start(ctx context.Context, q *Question) (*Job, error) {
	if bad := q.Validate(); len(bad) > 0 {
		return nil, &sizing.Error{Kind: sizing.Invalid, Detail: "what if: some fields are invalid", Fields: bad}
	}
	if _, err := s.svc.TasksOf(ctx, q.Task); err != nil {
		return nil, err
	}
	if len(q.Set) > 0 {
		if err := s.svc.CheckFeatureNames(ctx, q.Task, "set.", q.Set); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the job continues after the request
	j := &Job{ID: rand.Text(), Task: q.Task, done: make(chan struct{}), cancel: cancel, lastStatusAt: time.Now()}
	if err := s.add(j); err != nil {
		cancel()
		return nil, err
	}
	go s.work(ctx, j, q)
	return j, nil
}

// add adds a job; the error is Exhausted if maxJobs other jobs wait or run. add also cancels abandoned jobs, which do not count
// towards maxJobs, and drops jobs that ended more than resultTTL ago.
func (s *Jobs) add(j *Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unfinished := 0
	for id, other := range s.jobs {
		other.mu.Lock()
		ended, isAbandoned := other.ended, other.isAbandoned()
		other.mu.Unlock()
		switch {
		case ended.IsZero() && isAbandoned:
			other.cancel()
		case ended.IsZero():
			unfinished++
		case time.Since(ended) > resultTTL:
			delete(s.jobs, id)
		}
	}
	if unfinished >= maxJobs {
		return sizing.Errorf(sizing.Exhausted, "what if: %d replays wait or run; repeat the request later, or cancel one", unfinished)
	}
	s.jobs[j.ID] = j
	return nil
}

func (s *Jobs) work(ctx context.Context, j *Job, q *Question) {
	defer j.cancel()
	report, err := s.replay(ctx, j, q)
	j.mu.Lock()
	j.report, j.err, j.ended = report, err, time.Now()
	j.mu.Unlock()
	close(j.done)
}

// replay waits for the slot and answers the question. It recovers from panics, so that a panic does
// not end the process, which also answers predictions.
func (s *Jobs) replay(ctx context.Context, j *Job, q *Question) (report *Report, err error) {
	defer func() {
		if r := recover(); r != nil {
			report, err = nil, fmt.Errorf("what if: the replay panicked, please report this: %v", r)
		}
	}()
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return nil, earlyEndError(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime) // the wait for the slot does not count
	defer cancel()
	j.advance(0) // cancels the job if it was abandoned while it waited
	report, err = run(ctx, s.svc, q, j.advance)
	if err != nil && ctx.Err() != nil {
		err = earlyEndError(ctx)
	}
	return report, err
}

// isAbandoned reports whether no caller has polled the job for abandonedAfter; Jobs.add and advance cancel such a job.
// The caller holds j.mu.
func (j *Job) isAbandoned() bool { return time.Since(j.lastStatusAt) > abandonedAfter }

func (j *Job) advance(share float64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress = share
	if j.isAbandoned() {
		j.cancel()
	}
}

func earlyEndError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return sizing.Errorf(sizing.Exhausted, "what if: the replay took more than %s; name one task, or fewer settings", maxTime)
	}
	return sizing.Errorf(sizing.Conflict, "what if: the replay was cancelled")
}

// Find returns a job; NotFound if it is unknown to this replica.
func (s *Jobs) Find(id string) (*Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil {
		return j, nil
	}
	return nil, Unknown(id)
}

// Unknown returns the error for an id that is unknown to this replica. A caller who may not read the job gets the same error.
func Unknown(id string) error {
	return sizing.Errorf(sizing.NotFound, "no what-if has the id %q; results are kept for %s by the replica that computed them", id, resultTTL)
}

// Cancel stops a job and removes it with its result.
func (s *Jobs) Cancel(j *Job) {
	j.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.ID)
}
