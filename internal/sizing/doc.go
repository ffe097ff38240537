// Package sizing holds the words of this service: a Task asks before it is
// launched, an Allocation answers with its reason and its promised risk, an
// Observation tells what was used, and a Lift answers again after an OOM kill.
//
//	Ask ──▶ Allocation ──▶ the pod runs ──▶ Observation ──▶ the next model
//	                            └─ OOM ──▶ LiftAsk ──▶ Lift
//
// It knows nothing of HTTP, SQL or learning, keeps no clock and does no I/O, and
// imports only the standard library. Whatever is decided here is arithmetic.
package sizing
