package service

import (
	"maps"
	"slices"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

// grantTo returns the memory that the first try of an instance with the features f is granted, in bytes, as in Predict. In
// the modes shadow and off it is the static request that was last reported. If none is known, it is what the mode enforce
// grants.
func (c *allocator) grantTo(task sizing.TaskKey, f sizing.Features) float64 {
	ask := sizing.Ask{Try: sizing.TryKey{TaskKey: task}, Features: f, Requested: c.model.Requested}
	if ask.Requested.Memory == 0 {
		c.policy.Mode = sizing.Enforce
	}
	var a sizing.Allocation
	c.allocate(&ask, &inflight.Run{}, &a)
	return float64(a.Memory.Limit)
}

func (c *allocator) meanGrant(task sizing.TaskKey, instances []sizing.Features) (mean float64) {
	var last float64
	for i, f := range instances {
		if i == 0 || !maps.Equal(f, instances[i-1]) {
			last = c.grantTo(task, f)
		}
		mean += (last - mean) / float64(i+1)
	}
	return mean
}

// simulatedInputs returns the features of the instances of a task in a simulated run. `sample` holds the features of some of
// these instances. `byRun` holds, for each of the newest pastRuns runs, the features of all instances in a draw from this
// run, and nothing for older runs. byRun is nil if the features do not depend on the run, or if they differ between instances
// and the store summarised the runs. The features `own` of the simulated run replace those of a past run. If `own` is not
// empty, only features that differ between the instances of a run come from the past.
func (r *recentRuns) simulatedInputs(own sizing.Features) (byRun [][]sizing.Features, sample []sizing.Features) {
	switch sample = likeTries(own, &r.sample); {
	case len(r.differs) == 0 && len(own) > 0:
		return nil, sample
	case len(r.differs) > 0 && r.isSummary: // few instances of each run were read
		return nil, replaceInputs(likeTries(nil, &r.sample), own, r.differs)
	}
	byRun = make([][]sizing.Features, len(r.instances))
	for k := max(0, len(byRun)-pastRuns); k < len(byRun); k++ {
		byRun[k] = replaceInputs(r.instances[k], own, r.differs)
	}
	if all := slices.Concat(byRun...); len(own) > 0 && len(all) > 0 {
		sample = all
	}
	return byRun, sample
}

// replaceInputs returns the features that instances of a past run have in the simulated run: its features `own`, and of the
// past features those in `differs`. If `own` is empty, it returns all past features.
func replaceInputs(instances []sizing.Features, own sizing.Features, differs map[string]bool) []sizing.Features {
	if len(own) == 0 {
		return instances
	}
	replaced := make([]sizing.Features, len(instances))
	for i, f := range instances {
		replaced[i] = maps.Clone(own)
		for name, v := range f {
			if _, isSet := own[name]; differs[name] && !isSet {
				replaced[i][name] = v
			}
		}
	}
	return replaced
}
