package httpapi

import "net/http"

// closeIfAmbiguous closes the connection after the answer to r if a proxy in front may
// have seen the end of r elsewhere (request smuggling, RFC 9112 section 11.2).
//
// Section 6.3 demands that for a request with Transfer-Encoding and Content-Length, and
// section 6.1 for an HTTP/1.0 request with Transfer-Encoding. net/http resolves both and
// deletes the headers before a handler can see them, so this closes after every chunked
// and every HTTP/1.0 request. What follows on such a connection is never answered.
func closeIfAmbiguous(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
		w.Header().Set("Connection", "close")
	}
}
