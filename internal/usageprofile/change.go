package usageprofile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	// Growth is a factor: the trainer checks a set again when its namespace has more than Growth times as many recorded
	// reports as at the last check and at the last fit.
	Growth = 1.1

	sampleGrowth = 1.5 // profiles are found again when the sample has grown by this factor, because more runs show finer profiles
	minNewRuns   = 50  // smallest number of new runs, of tasks with minTaskRuns or more earlier runs, for a decision about changes
	minNewTasks  = 20  // smallest number of tasks outside the set for a decision about new tasks
	minTaskRuns  = 5   // smallest number of runs of a task in the set; fewer say little about the profiles of the task
	// maxChange is the largest accepted share of new runs that changed their profile, or of new tasks that fit none,
	// in excess of the expected share and of chance.
	maxChange      = 0.15
	matchedOverlap = 0.25 // smallest Jaccard index of the runs of two profiles that get the same id
)

// NeedsRefit returns why the profiles must be found again from these runs; empty if this is not necessary.
func (s *Set) NeedsRefit(runs []Run) (reason string) {
	runs = limitRuns(runs)
	if float64(len(runs)) >= sampleGrowth*float64(s.Runs()) {
		return fmt.Sprintf("the sample grew from %d to %d runs", s.Runs(), len(runs))
	}
	known, unknown := s.newRuns(runs)
	if reason := s.changeOfTasks(known); reason != "" {
		return reason
	}
	return s.misfitOfNewTasks(unknown)
}

// newRuns returns the runs that are newer than the set, grouped by task: in `known` those of the tasks in the set, in `unknown`
// those of other tasks.
func (s *Set) newRuns(runs []Run) (known, unknown [][]*Run) {
	at := map[Task]int{} // index in `known` or `unknown`
	for i := range runs {
		r := &runs[i]
		if r.Seq <= s.LastSeq {
			continue
		}
		groups := &unknown
		if _, isKnown := s.byTask[r.Task]; isKnown {
			groups = &known
		}
		index, hasGroup := at[r.Task]
		if !hasGroup {
			index = len(*groups)
			at[r.Task], *groups = index, append(*groups, nil)
		}
		(*groups)[index] = append((*groups)[index], r)
	}
	return known, unknown
}

// changeOfTasks compares the number of new runs in each profile with the number expected from the earlier runs of the same
// tasks, so that a task which only runs more often changes nothing. `reason` is empty if too few runs are new or changed
// their profile.
func (s *Set) changeOfTasks(newRuns [][]*Run) (reason string) {
	expected, found := make([]float64, len(s.Profiles)+1), make([]float64, len(s.Profiles)+1)
	variance := make([]float64, len(expected))
	compared := 0.0 // in runs
	for _, runs := range newRuns {
		counts := s.countsOf(s.byTask[runs[0].Task])
		total := 0
		for _, c := range counts {
			total += c
		}
		if total < minTaskRuns {
			continue
		}
		compared += float64(len(runs))
		for _, r := range runs {
			found[s.Place(&r.Vector).label+1]++
		}
		for at, c := range counts {
			share := float64(c) / float64(total)
			expected[at] += share * float64(len(runs))
			variance[at] += share * (1 - share) * float64(len(runs))
		}
	}
	if compared < minNewRuns {
		return ""
	}
	change, noise := 0.0, 0.0 // total variation distance, and its expectation without a change, in runs
	for at := range expected {
		change += math.Abs(expected[at]-found[at]) / 2
		noise += math.Sqrt(2*variance[at]/math.Pi) / 2
	}
	if (change-2*noise)/compared > maxChange {
		return fmt.Sprintf("%.0f %% of %.0f new runs changed their profile", 100*change/compared, compared)
	}
	return ""
}

// misfitOfNewTasks compares the share of new tasks that fit no profile with that of the tasks of the set. This detects
// changes of a namespace whose tasks never recur. Each task has the same weight, whatever its number of runs, because its
// runs are alike.
func (s *Set) misfitOfNewTasks(newRuns [][]*Run) (reason string) {
	n := float64(len(newRuns))
	if n < minNewTasks {
		return ""
	}
	misfits, expected := 0.0, s.outlierTasks()/float64(len(s.Tasks))
	for _, runs := range newRuns {
		for _, r := range runs {
			if place := s.Place(&r.Vector); place.IsOutlier() {
				misfits += 1 / float64(len(runs))
			}
		}
	}
	if misfits/n-expected-2*math.Sqrt(expected*(1-expected)/n) > maxChange {
		return fmt.Sprintf("%.0f %% of %.0f new tasks fit no profile", 100*misfits/n, n)
	}
	return ""
}

// outlierTasks returns the sum over the tasks of the share of outliers among the runs of the task.
func (s *Set) outlierTasks() float64 {
	outliers, all := make([]float64, len(s.Tasks)), make([]float64, len(s.Tasks))
	for i, task := range s.TaskOf {
		if all[task]++; s.Labels[i] < 0 {
			outliers[task]++
		}
	}
	sum := 0.0
	for task, n := range outliers {
		sum += n / all[task]
	}
	return sum
}

// assignIDs gives the ids of previous profiles to the profiles, in descending order of the Jaccard index of their runs. A
// profile gets a new id if no previous profile with an index of at least matchedOverlap is left.
func (s *Set) assignIDs(runs []Run, previous *Set) {
	for i := range s.Profiles {
		s.Profiles[i].PreviousShare = -1
	}
	s.Outliers.PreviousShare = -1
	if previous != nil {
		s.NextID = previous.NextID
		s.Outliers.PreviousShare = previous.Outliers.Share
		s.inheritIDs(runs, previous)
	}
	for i := range s.Profiles {
		if s.Profiles[i].ID == 0 {
			s.Profiles[i].ID = s.NextID
			s.NextID++
		}
	}
}

// SkipIDs raises the ids of a set above those of all earlier versions, whose number is `versions`. It is for a set whose
// previous version cannot be decoded, so that its NextID is unknown. A version has at most maxProfiles new ids.
func (s *Set) SkipIDs(versions int) {
	for i := range s.Profiles {
		s.Profiles[i].ID += versions * maxProfiles
	}
	s.NextID += versions * maxProfiles
}

func (s *Set) inheritIDs(runs []Run, previous *Set) {
	both := make([][]int, len(s.Profiles))
	for i := range both {
		both[i] = make([]int, len(previous.Profiles))
	}
	placed := make([]int, len(previous.Profiles))
	for i := range runs {
		old := previous.Place(&runs[i].Vector)
		if old.IsOutlier() {
			continue
		}
		placed[old.label]++
		if label := s.Labels[i]; label >= 0 {
			both[label][old.label]++
		}
	}
	type pair struct {
		now, before int
		overlap     float64
	}
	var pairs []pair
	for now, counts := range both {
		for before, n := range counts {
			if jaccard := float64(n) / float64(max(1, s.Profiles[now].Runs+placed[before]-n)); jaccard >= matchedOverlap {
				pairs = append(pairs, pair{now, before, jaccard})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.overlap, a.overlap) })
	isTaken := make([]bool, len(previous.Profiles))
	for _, p := range pairs {
		if profile := &s.Profiles[p.now]; profile.ID == 0 && !isTaken[p.before] {
			profile.ID, profile.PreviousShare, isTaken[p.before] = previous.Profiles[p.before].ID, previous.Profiles[p.before].Share, true
		}
	}
}
