// Package pglocal runs a private PostgreSQL for one process. It finds the installed programs,
// creates a cluster (the data of one server) in a data folder, runs the server as a child on a Unix socket
// that only the server's user and root can reach, and restarts the server when it dies.
//
//	<data>/lock          locked (flock) while a process uses the folder; names that process
//	<data>/postgres/     the cluster: back it up, never delete it
//	<data>/postgres.log  the output of the server; that of the previous start is in postgres.log.old
//	<data>/socket/       the folder of the socket, mode 0700 (a temporary folder if the path of
//	                     the socket would be too long for the operating system or has a comma)
//
// Shutdown and crashes:
//
//	Stop                 fast shutdown of the server, then release of the lock
//	this process dies    Linux sends the server SIGINT (Pdeathsig); if the server survives,
//	                     the next Start stops it
//	the server dies      the package restarts it after a backoff, on the same socket
//
// The package does not depend on tables, migrations or the service, and sends no SQL: the caller
// gets a DSN. It installs nothing. If PostgreSQL is missing, the error says what to do.
package pglocal
