// Package phase finds the phases of a program from its usage over time, with a method
// that was published for deep-learning containers: a conditional restricted Boltzmann machine encodes short windows of
// the series, k-means labels the codes, and the sequences of labels become a prefix tree,
// prototypes and a graph of transitions with dwell times.
//
//	series ─▶ equal steps ─▶ windows ─┬─▶ CRBM codes ─┐
//	                                  └─▶ raw ────────┴─▶ k-means ─▶ labels ─▶ visits ─▶ graph
//
// The package handles numbers only: no tasks, clock or I/O. The same series and configuration
// give the same phases.
package phase
