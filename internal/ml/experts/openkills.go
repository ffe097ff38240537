package experts

import "time"

// OpenKills is how many of the newest open runs were killed: exponentially weighted counts,
// in which the newest run counts 1.
type OpenKills struct{ Killed, Runs float64 }

const (
	openKillsMemory = 0.95 // per newer run: the last twenty count
	openKillsPrior  = 2.0  // runs that the promise before any kill counts for
)

// Rate is the posterior mean of the kill rate, given the promise before any kill was known.
func (o OpenKills) Rate(promised float64) float64 {
	return (o.Killed + openKillsPrior*promised) / (o.Runs + openKillsPrior)
}

// OpenKills counts the open runs, as long as the guard widens.
func (g *Guard) OpenKills(now time.Time) (o OpenKills) {
	if g.Widen(now) <= 1 {
		return o
	}
	for _, granted := range g.order {
		if w, known := g.runs[granted.run]; known && w.at.Equal(granted.at) {
			o.Killed, o.Runs = o.Killed*openKillsMemory, o.Runs*openKillsMemory+1
			if w.state != firstOpen {
				o.Killed++
			}
		}
	}
	return o
}
