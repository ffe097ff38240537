// Package phase finds the phases of a program from its usage over time. It follows AI4DL (Berral, Wang & Youssef 2020,
// HotCloud), which was published for containers that train deep-learning models. A conditional restricted Boltzmann
// machine (CRBM) encodes short windows of the series, and k-means clusters the codes or, with Config.Raw, the windows; a
// cluster is a phase. The sequences of phases become a prefix tree, prototypes and a graph of transitions with dwell times
// (see docs/glossary.md).
//
//	series ─▶ equal steps ─▶ windows ─┬─▶ CRBM codes ─┐
//	                                  └─ or (Raw) ────┴─▶ k-means ─▶ labels ─▶ visits ─▶ graph
//
// The package handles numbers only: no tasks, clock or I/O. The same series and configuration
// give the same phases.
package phase
