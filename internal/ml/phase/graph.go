package phase

import (
	"cmp"
	"slices"
)

// Visit is an uninterrupted stay in one phase. Steps is its duration.
type Visit struct{ Phase, Steps int }

// Visits merges equal consecutive labels of a run into visits.
func Visits(labels []int) []Visit {
	var visits []Visit
	for _, label := range labels {
		if n := len(visits); n > 0 && visits[n-1].Phase == label {
			visits[n-1].Steps++
			continue
		}
		visits = append(visits, Visit{label, 1})
	}
	return visits
}

// Graph holds the transitions between phases and the durations of visits in some runs.
type Graph struct {
	Runs       int
	Starts     []float64    // probability that a run starts in a phase
	Next       [][]float64  // Next[a][b] is the probability that b follows a; the last column is the end of the run
	Dwell      [][]int      // numbers of steps of the visits to a phase, ascending
	Tree       *Node        // prefix tree of the phase sequences
	Prototypes []*Prototype // distinct sequences, most frequent first
}

// Node is a node of the prefix tree. It stands for the runs that begin with the phases on the
// path from the root.
type Node struct {
	Phase    int     // −1 for the root
	Runs     int     // number of these runs
	Ends     int     // number of runs whose sequence ends here
	Children []*Node // most frequent first
}

// Prototype is a sequence of phases that some runs follow from their start to their end.
type Prototype struct {
	Phases []int
	Runs   int     // number of these runs
	Share  float64 // Runs / Graph.Runs
}

// NewGraph counts the transitions of some runs. `phases` is the number of phases.
func NewGraph(runs [][]Visit, phases int) *Graph {
	g := &Graph{Runs: len(runs), Starts: make([]float64, phases), Next: make([][]float64, phases), Dwell: make([][]int, phases), Tree: &Node{Phase: -1}}
	for p := range g.Next {
		g.Next[p] = make([]float64, phases+1)
	}
	for _, visits := range runs {
		g.count(visits, phases)
	}
	normalise(g.Starts)
	for p := range g.Next {
		normalise(g.Next[p])
		slices.Sort(g.Dwell[p])
	}
	g.Tree.sort()
	g.Tree.prototypes(nil, g)
	slices.SortStableFunc(g.Prototypes, func(a, b *Prototype) int { return cmp.Compare(b.Runs, a.Runs) })
	return g
}

func (g *Graph) count(visits []Visit, phases int) {
	node := g.Tree
	node.Runs++
	for i, v := range visits {
		if i == 0 {
			g.Starts[v.Phase]++
		}
		next := phases
		if i+1 < len(visits) {
			next = visits[i+1].Phase
		}
		g.Next[v.Phase][next]++
		g.Dwell[v.Phase] = append(g.Dwell[v.Phase], v.Steps)
		node = node.child(v.Phase)
		node.Runs++
	}
	node.Ends++
}

func normalise(counts []float64) {
	sum := 0.0
	for _, c := range counts {
		sum += c
	}
	for i := range counts {
		if sum > 0 {
			counts[i] /= sum
		}
	}
}

func (n *Node) child(phase int) *Node {
	for _, c := range n.Children {
		if c.Phase == phase {
			return c
		}
	}
	c := &Node{Phase: phase}
	n.Children = append(n.Children, c)
	return c
}

func (n *Node) sort() {
	slices.SortFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Phase, b.Phase))
	})
	for _, c := range n.Children {
		c.sort()
	}
}

// prototypes adds the sequences that end in the subtree to g.Prototypes. `path` has the phases from the root to the
// parent of n.
func (n *Node) prototypes(path []int, g *Graph) {
	if n.Phase >= 0 {
		path = append(path[:len(path):len(path)], n.Phase)
	}
	if n.Ends > 0 {
		g.Prototypes = append(g.Prototypes, &Prototype{path, n.Ends, float64(n.Ends) / float64(g.Runs)})
	}
	for _, c := range n.Children {
		c.prototypes(path, g)
	}
}

// Coverage returns the share, 0 to 1, of the runs that follow one of the n most frequent prototypes.
func (g *Graph) Coverage(n int) float64 {
	share := 0.0
	for _, p := range g.Prototypes[:min(n, len(g.Prototypes))] {
		share += p.Share
	}
	return share
}

// DwellQuantile returns the q quantile of the number of steps of a visit to a phase. It is 0 if
// there was no visit.
func (g *Graph) DwellQuantile(phase int, q float64) int {
	dwell := g.Dwell[phase]
	if len(dwell) == 0 {
		return 0
	}
	return dwell[min(len(dwell)-1, int(q*float64(len(dwell))))]
}
