// Package sequential tests while it watches: after every outcome it may be asked for
// a verdict. Looking often makes no false alarm more likely; and looking late at promises
// misses nothing.
//
// Both tests bet against the hypothesis that all is well, with fair odds: where it is
// true, the stake is a supermartingale, so that it ever grows 1/α-fold with
// probability at most α (Ville 1939; Shafer 2021, "Testing by betting").
package sequential
