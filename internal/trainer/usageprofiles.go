package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// One replica at a time finds usage profiles. Its lease is longer than a fit of the largest sample takes, and is renewed
// before each namespace.
const (
	profilesLease    = "usage profiles"
	profilesLeaseFor = 5 * time.Minute
)

func (t *Trainer) runProfiles(ctx context.Context) {
	if t.cfg.ProfilesEvery <= 0 {
		return
	}
	for wait := min(firstPassDelay, t.cfg.ProfilesEvery); ; wait = t.cfg.ProfilesEvery / 4 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if err := t.FindProfiles(ctx, time.Now()); err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "failed to find usage profiles", "err", err)
		}
	}
}

// FindProfiles finds usage profiles for each namespace with enough new reports (checkedReports.hasGrown) that has no
// profiles, or whose profiles are at least Config.ProfilesEvery old and Set.NeedsRefit gives a reason. Profiles of this age
// that cannot be decoded are replaced even without new reports. FindProfiles works at a lower priority, and does nothing
// while another replica holds the lease.
func (t *Trainer) FindProfiles(ctx context.Context, now time.Time) error {
	began := time.Now()
	usage, err := t.store.TaskUsage(ctx, "")
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	var namespaces []string
	for _, u := range usage {
		namespaces = append(namespaces, u.Task.Namespace)
	}
	slices.Sort(namespaces)
	var failed []error                                                             // an error in one namespace must not stop the others
	defer func() { _, _ = t.store.AcquireLease(ctx, profilesLease, t.owner, 0) }() // ends the lease, which would also expire by itself
	for _, namespace := range slices.Compact(namespaces) {
		acquired, err := t.store.AcquireLease(ctx, profilesLease, t.owner, profilesLeaseFor)
		if err != nil || !acquired {
			return errors.Join(append(failed, err)...)
		}
		err = t.findProfiles(ctx, namespace, now.Add(time.Since(began)))
		if err != nil && sizing.KindOf(err) != sizing.Conflict { // a conflict means that another replica was faster
			failed = append(failed, fmt.Errorf("find the usage profiles of namespace %s: %w", namespace, err))
		}
	}
	return errors.Join(failed...)
}

func (t *Trainer) findProfiles(ctx context.Context, namespace string, now time.Time) error {
	began := time.Now()
	stored, err := t.store.UsageProfiles(ctx, namespace, 0)
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return err
	}
	if now.Sub(stored.LearnedAt) < t.cfg.ProfilesEvery {
		return nil
	}
	age, err := t.store.CohortAge(ctx, namespace, usageprofile.RunsPerTask)
	if err != nil {
		return err
	}
	previous := t.decodeProfiles(ctx, &stored)
	isDamaged := previous == nil && stored.Version > 0
	if !isDamaged && !t.profiles.hasGrown(namespace, age.Runs, stored.Runs) {
		return nil
	}
	rows, err := t.store.ContextRows(ctx, namespace, usageprofile.RunsPerTask, usageprofile.MaxRuns)
	if err != nil {
		return err
	}
	runs := make([]usageprofile.Run, 0, len(rows))
	for i := range rows {
		if run, ok := usageprofile.RunOf(&rows[i]); ok {
			runs = append(runs, run)
		}
	}
	var set *usageprofile.Set
	reason := "there were none"
	if isDamaged {
		reason = "the stored ones cannot be decoded"
	}
	err = RunAtLowerPriority(func() (err error) {
		if previous != nil {
			if reason = previous.NeedsRefit(runs); reason == "" {
				return nil
			}
		}
		set, err = usageprofile.Fit(runs, previous)
		return err
	})
	t.profiles.record(namespace, age.Runs)
	if err != nil || set == nil {
		return err
	}
	if isDamaged {
		set.SkipIDs(stored.Version) // answers and cohorts refer to the ids of the lost versions
	}
	content, err := usageprofile.Encode(set)
	if err != nil {
		return err
	}
	// LearnedAt is the time of the save, because a cohort that was trained meanwhile does not have these profiles.
	version, err := t.store.SaveUsageProfiles(ctx, store.UsageProfiles{
		Namespace: namespace, Version: stored.Version, Format: usageprofile.Format, Runs: age.Runs, LearnedAt: now.Add(time.Since(began)), Content: content,
	})
	if err == nil {
		t.log.InfoContext(ctx, "found usage profiles", "namespace", namespace, "version", version, "reason", reason,
			"profiles", len(set.Profiles), "runs", set.Runs(), "coverage", set.Coverage, "took", time.Since(began))
		t.growth.forget(namespace)
		t.updateCohort(ctx, namespace, &t.backgroundCohort)
	}
	return err
}

// decodeProfiles decodes stored usage profiles. It returns nil if there are none or they cannot be decoded.
func (t *Trainer) decodeProfiles(ctx context.Context, stored *store.UsageProfiles) *usageprofile.Set {
	if stored.Version == 0 {
		return nil
	}
	set, err := usageprofile.Decode(stored.Format, stored.Content)
	if err != nil {
		t.log.WarnContext(ctx, "failed to decode the stored usage profiles; the next pass finds new ones", "namespace", stored.Namespace, "version", stored.Version, "err", err)
		return nil
	}
	return set
}

// checkedReports holds the number of reports at the last check of each namespace. It avoids checks without new reports,
// because a check reads the newest runs of all tasks. One goroutine uses it.
type checkedReports map[string]int

// hasGrown reports whether a check is worthwhile: `runs` is at least usageprofile.MinRuns, and more than usageprofile.Growth
// times both the number at the last check of this process and `fitted`, the number at the last fit.
func (p checkedReports) hasGrown(namespace string, runs, fitted int) bool {
	return runs >= usageprofile.MinRuns && float64(runs) > usageprofile.Growth*float64(max(fitted, p[namespace]))
}

func (p *checkedReports) record(namespace string, runs int) {
	if *p == nil {
		*p = checkedReports{}
	}
	(*p)[namespace] = runs
}
