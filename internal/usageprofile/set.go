package usageprofile

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/density"
)

// Set holds the usage profiles of a namespace, with the runs that they were found in.
type Set struct {
	Scaler
	Quality
	NextID   int       // the id of the next new profile: ids are not used again
	Profiles []Profile // by descending number of runs
	Outliers Profile   // runs of no profile; its id is 0
	Tasks    []Task
	LastSeq  int64 // Run.Seq of the newest run

	Predictability *Predictability // nil with few tasks

	// The runs, oldest first. A new run gets the profile of its nearest run, or none if that run is too far away.
	Points            []float32 // scaled quantities, run by run
	Core              []float32 // core distance: the distance to the neighbour whose rank is the constant `neighbours`
	MinBranchDistance []float32 `cbor:"Densest"` // see density.Clustering
	Scores            []float32 // outlier scores
	Labels            []int16   // index of Profiles, or density.Noise
	TaskOf            []int32   // index of Tasks

	byTask map[Task]int32 // index of Tasks
}

// Profile is a group of runs that use resources alike.
type Profile struct {
	ID     int
	Runs   int
	Tasks  int     // number of tasks with a run in the profile
	Killed int     // number of OOM-killed runs
	Share  float64 // share of the runs of the set
	// PreviousShare is the share of the same profile in the previous set; negative if the profile is new.
	PreviousShare   float64
	Spreads         [quantities]Spread // by Quantity
	MaxReachability float64            `cbor:"Reach"` // a new run at a larger mutual reachability distance is an outlier
}

// Spread is the distribution of a quantity in a profile.
type Spread struct {
	Known         int     // number of runs that report the quantity
	P10, P50, P90 float64 // quantiles in the unit of the quantity; 0 if no run reports it
}

// Runs returns the number of runs that the set was found in.
func (s *Set) Runs() int { return len(s.Labels) }

// setClusters sets the profiles from the clusters; the largest cluster is the first profile.
func (s *Set) setClusters(runs []Run, points [][]float64, tree *density.Tree, c *density.Clustering) {
	order := make([]int, len(c.Clusters))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Clusters[b].Size, c.Clusters[a].Size) })
	rank := make([]int16, len(order))
	s.Profiles = make([]Profile, len(order))
	for at, i := range order {
		rank[i] = int16(at)
		s.Profiles[at].MaxReachability = c.Clusters[i].MaxReachability
	}
	s.byTask = map[Task]int32{}
	for i, p := range points {
		for _, v := range p {
			s.Points = append(s.Points, float32(v))
		}
		s.Core, s.MinBranchDistance, s.Scores = append(s.Core, float32(tree.Core[i])), append(s.MinBranchDistance, float32(c.MinBranchDistance[i])), append(s.Scores, float32(c.Outlier[i]))
		label := int16(density.Noise)
		if c.Labels[i] != density.Noise {
			label = rank[c.Labels[i]]
		}
		task, known := s.byTask[runs[i].Task]
		if !known {
			task = int32(len(s.Tasks))
			s.byTask[runs[i].Task], s.Tasks = task, append(s.Tasks, runs[i].Task)
		}
		s.Labels, s.TaskOf = append(s.Labels, label), append(s.TaskOf, task)
		s.LastSeq = max(s.LastSeq, runs[i].Seq)
	}
}

func (s *Set) describe(runs []Run) {
	for label := density.Noise; label < len(s.Profiles); label++ {
		p := s.profile(label)
		var amounts [quantities][]float64
		tasks := map[int32]bool{}
		for i := range runs {
			if int(s.Labels[i]) != label {
				continue
			}
			p.Runs++
			tasks[s.TaskOf[i]] = true
			if runs[i].Killed {
				p.Killed++
			}
			for q := range amounts {
				if v := runs[i].Vector.Amount(Quantity(q)); !math.IsNaN(v) {
					amounts[q] = append(amounts[q], v)
				}
			}
		}
		p.Tasks, p.Share = len(tasks), float64(p.Runs)/float64(len(runs))
		for q, list := range amounts {
			if len(list) > 0 {
				slices.Sort(list)
				p.Spreads[q] = Spread{len(list), quantile(list, .1), quantile(list, .5), quantile(list, .9)}
			}
		}
	}
}

func (s *Set) profile(label int) *Profile {
	if label == density.Noise {
		return &s.Outliers
	}
	return &s.Profiles[label]
}

// Find returns the profile with an id, or the outlier group for the id 0. It returns nil if the set has no such profile.
func (s *Set) Find(id int) *Profile {
	if id == outlierID {
		return &s.Outliers
	}
	for i := range s.Profiles {
		if s.Profiles[i].ID == id {
			return &s.Profiles[i]
		}
	}
	return nil
}

// Member is a task with runs in a profile.
type Member struct {
	Task
	Runs  int
	Share float64 // of the runs of the task
}

// Members returns the tasks of a profile, those with the most runs first.
func (s *Set) Members(id int) []Member {
	in, all := make([]int, len(s.Tasks)), make([]int, len(s.Tasks))
	for i, task := range s.TaskOf {
		all[task]++
		if s.profile(int(s.Labels[i])).ID == id {
			in[task]++
		}
	}
	var members []Member
	for task, runs := range in {
		if runs > 0 {
			members = append(members, Member{s.Tasks[task], runs, float64(runs) / float64(all[task])})
		}
	}
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.DAG, b.DAG), cmp.Compare(a.Task.Task, b.Task.Task))
	})
	return members
}

// OfTask returns the profile or the outlier group that has the largest number of the task's runs, the share of the task's runs in it, and
// the number of the task's runs in the set. The profile is nil if the set has no run of the task.
func (s *Set) OfTask(task Task) (p *Profile, share float64, runs int) {
	index, known := s.byTask[task]
	if !known {
		return nil, 0, 0
	}
	counts := s.countsOf(index)
	most := 0
	for at, n := range counts {
		if runs += n; n > counts[most] {
			most = at
		}
	}
	return s.profile(most - 1), float64(counts[most]) / float64(runs), runs
}

// countsOf counts the runs of a task by label + 1: the outlier group is first.
func (s *Set) countsOf(task int32) []int {
	counts := make([]int, len(s.Profiles)+1)
	for i, of := range s.TaskOf {
		if of == task {
			counts[s.Labels[i]+1]++
		}
	}
	return counts
}
