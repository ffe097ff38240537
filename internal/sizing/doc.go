// Package sizing defines the domain types, checks their values, and decides the lift after a kill. An Ask
// requests an allocation before a task is launched, an Allocation is its answer with a reason and a
// promised risk, an Observation reports the usage of the try, a LiftAsk requests a larger allocation after
// a try that did not succeed, and a Lift is its answer.
//
//	Ask ──▶ Allocation ──▶ the pod runs ──▶ Observation ──▶ the next model
//	                            └─ OOM ──▶ LiftAsk ──▶ Lift
//
// The package imports only the standard library, reads no clock and does no I/O.
package sizing
