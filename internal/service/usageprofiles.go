package service

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// UsageProfiles are the usage profiles of a namespace: groups of runs, of any task, that use resources alike.
type UsageProfiles struct {
	*usageprofile.Set
	Namespace string
	Version   int // of the stored profiles, from 1 on
	LearnedAt time.Time
}

// maxProfileSets bounds the decoded sets in memory, each of which takes at most a few megabytes.
const maxProfileSets = 16

type profileSets struct {
	mu   sync.Mutex
	sets []*UsageProfiles // the least recently used first
}

func (p *profileSets) find(namespace string) *UsageProfiles {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, set := range p.sets {
		if set.Namespace == namespace {
			p.sets = append(append(p.sets[:i:i], p.sets[i+1:]...), set)
			return set
		}
	}
	return nil
}

func (p *profileSets) add(set *UsageProfiles) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := make([]*UsageProfiles, 0, len(p.sets)+1)
	for _, other := range p.sets {
		if other.Namespace != set.Namespace {
			kept = append(kept, other)
		}
	}
	kept = append(kept, set)
	p.sets = kept[max(0, len(kept)-maxProfileSets):]
}

// UsageProfiles returns the newest usage profiles of a namespace; NotFound if there are none that can be decoded.
func (s *Service) UsageProfiles(ctx context.Context, namespace string) (*UsageProfiles, error) {
	known := s.profileSets.find(namespace)
	version := 0
	if known != nil {
		version = known.Version
	}
	stored, err := s.store.UsageProfiles(ctx, namespace, version)
	switch {
	case sizing.KindOf(err) == sizing.NotFound:
		return nil, sizing.Errorf(sizing.NotFound, "namespace %s has no usage profiles yet: they are found within an hour of %d reports with a peak", namespace, usageprofile.MinRuns)
	case err != nil:
		return nil, err
	case stored.Version == version:
		return known, nil
	}
	set, err := usageprofile.Decode(stored.Format, stored.Content)
	if err != nil {
		s.log.WarnContext(ctx, "failed to decode the stored usage profiles; the trainer finds new ones within an hour", "namespace", namespace, "version", stored.Version, "err", err)
		return nil, sizing.Errorf(sizing.NotFound, "the stored usage profiles of namespace %s cannot be decoded; they are found again within an hour", namespace)
	}
	next := &UsageProfiles{Set: set, Namespace: namespace, Version: stored.Version, LearnedAt: stored.LearnedAt}
	s.profileSets.add(next)
	return next, nil
}

// TaskUsage compares how a task uses resources with the usage profiles of its namespace.
type TaskUsage struct {
	Version int                   // version of the usage profiles
	Profile *usageprofile.Profile // the most frequent profile of the task's runs in the sample or, without such a run, of Newest; nil if Newest is empty, too
	Share   float64               // share of these runs that have Profile
	Runs    int                   // number of the task's runs in the sample of runs from which the profiles were found
	Newest  []usageprofile.Place  // profile and outlier score of each of the task's newest runs with a peak, oldest first
}

// maxPlacedRuns is the largest number of newest runs whose profiles TaskUsage finds.
const maxPlacedRuns = 10

// TaskUsage finds the profiles of the newest runs of a task; NotFound if its namespace has no usage profiles.
func (s *Service) TaskUsage(ctx context.Context, task sizing.TaskKey) (*TaskUsage, error) {
	set, err := s.UsageProfiles(ctx, task.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.RecentContext(ctx, task, maxPlacedRuns)
	if err != nil {
		return nil, err
	}
	usage := &TaskUsage{Version: set.Version}
	usage.Profile, usage.Share, usage.Runs = set.OfTask(usageprofile.Task{DAG: task.DAG, Task: task.Task})
	for i := range rows {
		if run, ok := usageprofile.RunOf(&rows[i]); ok {
			usage.Newest = append(usage.Newest, set.Place(&run.Vector))
		}
	}
	if usage.Profile == nil {
		usage.placeNewTask(set.Set)
	}
	return usage, nil
}

func (u *TaskUsage) placeNewTask(set *usageprofile.Set) {
	counts := map[int]int{}
	for _, place := range u.Newest {
		counts[place.Profile.ID]++
		if u.Profile == nil || counts[place.Profile.ID] > counts[u.Profile.ID] {
			u.Profile = set.Find(place.Profile.ID)
		}
	}
	if u.Profile != nil {
		u.Share = float64(counts[u.Profile.ID]) / float64(len(u.Newest))
	}
}
