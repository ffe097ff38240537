// Package pglocal runs a private PostgreSQL for one process. It finds the installed programs,
// creates a cluster in a data folder, runs the server as a child on a Unix socket that no other
// user can reach, and restarts the server when it dies.
//
//	<data>/lock          locked (flock) while a process uses the folder; says which one
//	<data>/postgres/     the cluster: to be backed up, never deleted
//	<data>/postgres.log  the output of the server
//	<data>/socket/       the socket, mode 0700 (in a temporary folder if its path would be
//	                     too long for the operating system)
//
// Shutdown and crashes:
//
//	Stop                 fast shutdown of the server, then release of the lock
//	this process dies    Linux sends the server SIGINT (Pdeathsig); a server that survives
//	                     is stopped by the next Start
//	the server dies      it is restarted after a backoff, on the same socket
//
// It knows nothing of tables, migrations or the service, and sends no SQL: the caller gets a
// DSN. It installs nothing: its errors name the package to install.
package pglocal
