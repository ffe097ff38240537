package dashboard

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/loadaware/loadaware/internal/insight/whatif"
)

// replays remembers the job of each question, because a page asks the same question each time it is
// loaded.
type replays struct {
	jobs *whatif.Jobs
	mu   sync.Mutex
	ids  map[string]string // ids of jobs, by question and data
}

func newReplays(jobs *whatif.Jobs) *replays { return &replays{jobs: jobs, ids: map[string]string{}} }

// maxQuestions bounds the remembered questions. When this number is reached, start forgets all of them, and pages that
// are loaded later start their replays again.
const maxQuestions = 200

// start returns the job of a question, which it starts if there is none. data identifies what else the result
// depends on, such as the history. The error is Exhausted if too many replays wait or run.
func (r *replays) start(ctx context.Context, q *whatif.Question, data string) (*whatif.Job, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	key := string(text) + data
	if job := r.find(key); job != nil {
		return job, nil
	}
	job, err := r.jobs.Start(ctx, q) // reads the store, so r.mu is not locked here
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.ids[key]; ok {
		if other, err := r.jobs.Find(id); err == nil { // another page has started it meanwhile
			r.jobs.Cancel(job)
			return other, nil
		}
	}
	if len(r.ids) >= maxQuestions {
		clear(r.ids)
	}
	r.ids[key] = job.ID
	return job, nil
}

// find returns the job of a question and its data; nil if there is none. It returns a failed job once, so that the
// next load of the page starts another job.
func (r *replays) find(key string) *whatif.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.ids[key]
	if !ok {
		return nil
	}
	job, err := r.jobs.Find(id)
	if err != nil {
		delete(r.ids, key)
		return nil
	}
	if state, _, _, _ := job.Status(); state == whatif.Failed {
		delete(r.ids, key)
	}
	return job
}
