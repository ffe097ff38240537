// Package svm fits support vector machines with the Gaussian (RBF) kernel and class
// probabilities on bins (C-SVC, Cortes & Vapnik 1995). It follows libsvm (Chang & Lin
// 2011).
//
//	table ─▶ scale ─▶ points of two bins ─▶ solver ─▶ decision values ─▶ sigmoid
//	         columns   every pair            SMO on    held out in        by pair
//	         mean 0,   (one against one)     kernel    five folds           │
//	         variance 1                      rows                           ▼
//	                                 row ─▶ P(a | a or b) of every pair ─▶ couple ─▶ P(bin)
//
// Time grows with the square of the rows, so the package suits thousands of rows, not
// tens of thousands. Memory is bounded: see mostCached.
//
// The package handles numbers only: no tasks, no bytes of memory, no clock, no I/O. The same
// rows, Config and seed give the same classifier, bit for bit.
package svm
