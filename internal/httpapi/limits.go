package httpapi

import (
	"net/http"
	"time"
)

// fetching is how long an answer may take to be fetched once it is there.
const fetching = time.Minute

// bound holds a caller to the timeout of its route, which the server's own timeouts
// cannot know: they are for the slowest one. A body that trickles in keeps a place
// that others wait for; a training outlasts what any other answer may take.
func (rule *route) bound(w http.ResponseWriter) {
	conn, now := http.NewResponseController(w), time.Now()
	if rule.body > 0 {
		_ = conn.SetReadDeadline(now.Add(rule.timeout)) // not there in tests without a connection
	}
	if rule.timeout > fetching {
		_ = conn.SetWriteDeadline(now.Add(rule.timeout + fetching)) // likewise
	}
}
