package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/store"
)

const (
	warmEvery  = maxStale * 4 / 5 // pause of Run; below maxStale, the age from which pages do not show a value
	warmRetry  = 5 * time.Second  // pause of Run after a failed read
	warmScopes = 8                // maximum number of scopes (the namespaces and DAG prefixes of a caller) whose lists Run reads
)

// Run keeps the stored monthly sums of the savings and the cached lists of all tasks up to date, so that the first
// visit after a start or a night does not wait for slow queries. It returns when ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	for {
		pause := warmEvery
		for _, grants := range d.readerGrants() {
			if err := d.warm(ctx, grants); err != nil {
				d.cfg.Log.DebugContext(ctx, "the background update of the lists on pages failed; the next attempt follows", "err", err)
				pause = warmRetry
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (d *Dashboard) warm(ctx context.Context, grants auth.Grants) (err error) {
	defer func() { // a defect of a page must not end the process that answers predictions
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			d.cfg.Log.ErrorContext(ctx, "background read of a page panicked; please report this", "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	if err := d.svc.SumSavings(ctx); err != nil {
		return err
	}
	list, err := d.taskList(ctx, grants)
	if err != nil {
		return err
	}
	for i := range list.rows { // for the page of run times; a call does not repeat a recent fit
		d.svc.NodeTypes(ctx, list.rows[i].Namespace)
	}
	for _, by := range savingsKeys {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, Root+"/savings?by="+string(by), http.NoBody)
		if err != nil {
			return err
		}
		if _, err := d.savings(&pageRequest{Request: r, query: r.URL.Query(), grants: grants}); err != nil {
			return err
		}
	}
	// The slowest read is the last one: it reads each day of each task.
	_, err = d.sums(ctx, store.SavingsFilter{Scopes: grants.Scopes()}, store.ByDay)
	return err
}

// readerGrants returns the grants of the callers that may read the lists of tasks: one caller for each scope, at
// most warmScopes.
func (d *Dashboard) readerGrants() (all []auth.Grants) {
	callers := d.cfg.Auth.Callers()
	if d.cfg.Proxy.Header != "" {
		callers = append(callers, d.cfg.Proxy.Grants("-")) // a user who is no admin
	}
	known := map[string]bool{}
	for _, grants := range callers {
		grants = slices.Clone(grants).WithRole(readers)
		if key := scopeKey(grants); len(grants) > 0 && !known[key] && len(all) < warmScopes {
			known[key] = true
			all = append(all, grants)
		}
	}
	return all
}
