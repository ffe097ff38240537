// Package testwait bounds how long tests wait for background work.
package testwait

import "time"

// Limit is not an expectation of how long work takes: a busy machine under the race detector has
// taken 40 times as long as an idle one. Only a test that hangs reaches it.
const Limit = 10 * time.Minute
