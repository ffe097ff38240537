// Package testwait bounds how long tests wait for background work.
package testwait

import "time"

// Limit is the longest wait of a test. It is long enough that only a test that hangs reaches it, because a busy machine under
// the race detector may take 40 times as long as an idle one.
const Limit = 10 * time.Minute
