package app

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The garbage collector starts when the heap has grown by gcPercent of the live memory, which includes the ballast. The
// percentage is low because models are most of the live memory. The heap ballast keeps the collector from running often
// while few models are loaded: BenchmarkPredictUnderGC shows 2.5 collections per 10,000 predictions with the ballast, and
// about 25 without it.
const (
	gcPercent   = 16
	ballastSize = 320 << 20 // bytes
	chunkSize   = 4 << 20   // bytes
)

// setGCPace sets the collector's percentage and allocates the ballast until release. The ballast is not resident, because
// its pages are not touched; it consists of chunks, so that Go clears (and touches) only those that reuse freed memory. The
// environment variable GOGC overrides the percentage, and with GOMEMLIMIT there is no ballast.
func setGCPace() (release func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {} // the ballast would count against the limit
	}
	ballast := make([][]byte, ballastSize/chunkSize)
	for i := range ballast {
		ballast[i] = make([]byte, chunkSize)
	}
	return func() { runtime.KeepAlive(ballast) }
}

// shareProcessors sets GOMAXPROCS to at least 2. On a single CPU the operating system then divides the CPU between requests
// and other work of this process, such as learning reports or a what-if. With GOMAXPROCS 1, Go would let such work run for
// up to 10 ms before a request. The environment variable GOMAXPROCS overrides this.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
}
