// Package sequential provides sequential tests that are valid at any stopping time. Checking
// after every outcome does not raise the false alarm rate, and checking late does not lose
// power.
//
// Both tests bet against the null hypothesis with fair odds. Under the null hypothesis the
// stake is a supermartingale, so it ever grows 1/α-fold with probability at most α (Ville
// 1939; Shafer 2021, "Testing by betting").
package sequential
