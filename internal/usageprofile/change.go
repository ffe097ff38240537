package usageprofile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	// Growth is the growth of the number of stored runs after which the trainer checks a set again.
	Growth = 1.1

	sampleGrowth   = 1.5  // of the runs of a fit: more runs show finer profiles
	minNewRuns     = 50   // of known tasks, before a change counts
	minTaskRuns    = 5    // of a task in the set: fewer say little about its shares
	maxChange      = 0.15 // share of the new runs that changed their profile
	matchedOverlap = 0.25 // Jaccard index of the runs of two profiles
)

// NeedsRefit returns why the profiles must be found again from these runs; empty if they still fit.
// It compares the new runs of a task with the earlier runs of the same task, so that a task which
// only runs more often changes nothing.
func (s *Set) NeedsRefit(runs []Run) (reason string) {
	runs = bounded(runs)
	if float64(len(runs)) >= sampleGrowth*float64(s.Runs()) {
		return fmt.Sprintf("the sample grew from %d to %d runs", s.Runs(), len(runs))
	}
	before := map[Task][]int{}
	expected, found := make([]float64, len(s.Profiles)+1), make([]float64, len(s.Profiles)+1)
	variance := make([]float64, len(expected))
	n := 0.0
	for i := range runs {
		index, known := s.byTask[runs[i].Task]
		if runs[i].Seq <= s.LastSeq || !known {
			continue
		}
		counts := before[runs[i].Task]
		if counts == nil {
			counts = s.sharesOf(index)
			before[runs[i].Task] = counts
		}
		total := 0
		for _, c := range counts {
			total += c
		}
		if total < minTaskRuns {
			continue
		}
		n++
		found[s.Place(&runs[i].Vector).label+1]++
		for at, c := range counts {
			share := float64(c) / float64(total)
			expected[at] += share
			variance[at] += share * (1 - share)
		}
	}
	if n < minNewRuns {
		return ""
	}
	change, noise := 0.0, 0.0 // total variation, and what it would be without a change
	for at := range expected {
		change += math.Abs(expected[at]-found[at]) / 2
		noise += math.Sqrt(2*variance[at]/math.Pi) / 2
	}
	if (change-2*noise)/n > maxChange {
		return fmt.Sprintf("%.0f %% of %.0f new runs changed their profile", 100*change/n, n)
	}
	return ""
}

// assignIDs gives each profile the id of the previous profile that shares most runs with it. A profile
// that shares too few runs with every previous profile gets a new id.
func (s *Set) assignIDs(runs []Run, previous *Set) {
	for i := range s.Profiles {
		s.Profiles[i].PreviousShare = -1
	}
	s.Outliers.PreviousShare = -1
	if previous != nil {
		s.NextID = previous.NextID
		s.Outliers.PreviousShare = previous.Outliers.Share
		s.inherit(runs, previous)
	}
	for i := range s.Profiles {
		if s.Profiles[i].ID == 0 {
			s.Profiles[i].ID = s.NextID
			s.NextID++
		}
	}
}

func (s *Set) inherit(runs []Run, previous *Set) {
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
