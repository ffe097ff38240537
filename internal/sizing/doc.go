// Package sizing defines the domain types: an Ask comes before a task is launched, an
// Allocation answers it with a reason and a promised risk, an Observation reports what
// the try used, and a Lift answers again after an OOM kill.
//
//	Ask ──▶ Allocation ──▶ the pod runs ──▶ Observation ──▶ the next model
//	                            └─ OOM ──▶ LiftAsk ──▶ Lift
//
// It knows nothing of HTTP, SQL or learning, reads no clock, does no I/O, and imports only
// the standard library. Every decision made here is pure arithmetic.
package sizing
