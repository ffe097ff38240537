// Command loadaware answers, before Airflow launches a task, how much memory and
// CPU it should get, and learns from what it is told afterwards.
//
// This room wires all others and is imported by none. It alone knows the command
// line, the environment and the process: signals, exit codes, terminals. A rule
// of sizing found here has lost its way.
package main
