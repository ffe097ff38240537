package usageprofile

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/density"
)

// Place is the profile of a run and how unusual the run is among the runs of a set.
type Place struct {
	Profile   *Profile
	Score     float64 // outlier score, 0 (typical) to 1 (GLOSH)
	TailShare float64 // share of the runs of the set that are at least as unusual
	label     int
}

// IsOutlier reports whether the run has no profile.
func (p *Place) IsOutlier() bool { return p.label == density.Noise }

// Place returns the profile and the outlier score of a run without changing the set. The run gets the profile of the run of
// the set with the smallest mutual reachability distance. If that run has none, or if the distance exceeds
// Profile.MaxReachability, the placed run is an outlier.
func (s *Set) Place(v *Vector) Place {
	nearest, distance := s.nearest(v)
	place := Place{label: int(s.Labels[nearest])}
	if place.label != density.Noise && distance > s.Profiles[place.label].MaxReachability {
		place.label = density.Noise
	}
	place.Profile = s.profile(place.label)
	place.Score = max(0, 1-float64(s.MinBranchDistance[nearest])/distance)
	atLeast := 0
	for _, score := range s.Scores {
		if float64(score) >= place.Score {
			atLeast++
		}
	}
	place.TailShare = float64(atLeast) / float64(len(s.Scores))
	return place
}

// nearest returns the run of the set with the smallest mutual reachability distance to v: the largest of the distance of the
// two runs, their core distances and the constant `resolution`.
func (s *Set) nearest(v *Vector) (index int, reachability float64) {
	p, columns := s.point(v), len(s.Quantities)
	var closest [neighbours]float64 // the smallest distances, ascending
	for i := range closest {
		closest[i] = math.Inf(1)
	}
	index, reachability = 0, math.Inf(1)
	for i, core := range s.Core {
		d := distance(p, s.Points[i*columns:(i+1)*columns])
		if d < closest[neighbours-1] {
			at := neighbours - 1
			for ; at > 0 && closest[at-1] > d; at-- {
				closest[at] = closest[at-1]
			}
			closest[at] = d
		}
		if d = max(d, float64(core)); d < reachability {
			index, reachability = i, d
		}
	}
	return index, max(reachability, closest[neighbours-1], resolution)
}
