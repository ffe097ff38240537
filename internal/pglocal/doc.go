// Package pglocal keeps a private PostgreSQL for one process: it finds the
// installed programs, makes a cluster in a data folder, runs the server as a child
// on a Unix socket that nobody else can reach, and starts it again when it dies.
//
//	<data>/lock          held (flock) while a process uses the folder; says who
//	<data>/postgres/     the cluster: what must be backed up, and is never deleted
//	<data>/postgres.log  what the server had to say
//	<data>/socket/       the socket, mode 0700 (in a temporary folder where its
//	                     path would be too long for the operating system)
//
// What happens when somebody dies:
//
//	this process, asked to   Stop: fast shutdown, then the lock is let go
//	this process, killed     Linux tells the server to shut down (Pdeathsig); a
//	                         server that lives on is stopped by the next Start
//	the server, killed       started again after a pause, on the same socket
//
// It knows nothing of tables, migrations or the service, and speaks no SQL: a
// caller gets a DSN. It installs nothing: its errors name the package to install.
package pglocal
