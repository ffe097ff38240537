package app

import (
	"os"
	"runtime"
	"runtime/debug"
)

// The garbage collector starts when the heap has grown by gcPercent of the live memory, which includes the ballast. The
// percentage is low because models are most of the live memory. The ballast keeps the collector from running often while
// few models are loaded: BenchmarkPredictUnderGC shows 2.5 collections per 10,000 predictions with it, about 25 without.
const (
	gcPercent   = 16
	ballastSize = 320 << 20 // bytes
	chunkSize   = 4 << 20   // bytes
)

// setGCPace keeps the ballast until release. The ballast is not resident, because its pages are not touched; it consists
// of chunks, so that Go clears (and touches) only those that reuse freed memory. GOGC overrides the percentage, and with
// GOMEMLIMIT there is no ballast.
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

// shareProcessors raises GOMAXPROCS to at least 2. On a single CPU, GOMAXPROCS 1 would let other work of this process, such
// as learning reports or a what-if, run for up to 10 ms before a request. With 2, the operating system divides the CPU
// between them. The environment variable overrides this.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
}
