package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The garbage collector runs when the heap has grown by gcPercent of what is live plus
// ballastSize. The percentage is small because models are most of what lives; the
// ballast keeps a server with few models from collecting many times a second.
const (
	gcPercent   = 16
	ballastSize = 320 << 20 // bytes
	pieceSize   = 4 << 20   // bytes
)

// setGCPace sets the collector's pace and allocates the ballast. The ballast counts as
// live and its pages are never used, so that it takes no memory. It is made in pieces
// because Go clears a slice that begins in used memory, all of it. release lets the
// collector take it.
func setGCPace() (release func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {} // the ballast would count against the limit
	}
	ballast := make([][]byte, ballastSize/pieceSize)
	for i := range ballast {
		ballast[i] = make([]byte, pieceSize)
	}
	return func() { runtime.KeepAlive(ballast) }
}
