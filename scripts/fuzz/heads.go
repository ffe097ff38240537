package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// unusualMethods are methods to draw from. The service does not support most of them.
var unusualMethods = []string{
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "BREW", "PROPFIND", "M-SEARCH", strings.Repeat("X", 300),
}

// mutateTarget returns a changed target, which the HTTP library accepts.
func mutateTarget(random *rand.Rand, target string) string {
	path, query, _ := strings.Cut(target, "?")
	switch random.IntN(12) {
	case 0:
		return path + "/"
	case 1:
		return "/" + path
	case 2:
		return strings.ToUpper(path)
	case 3:
		return path + "/.."
	case 4:
		return path + "%00"
	case 5:
		return path + "%2f%2e%2e%2f"
	case 6:
		return "/" + strings.Repeat("a/", 1<<random.IntN(13))
	case 7:
		return path + "?" + strings.Repeat(query+"&", 1+random.IntN(40))
	case 8:
		return path + "?" + query + ";a=1&%zz=%&=&&="
	case 9:
		return "/tasks/" + strings.Repeat("x", random.IntN(600)) + "/" + strings.Repeat("%C3%A9", random.IntN(300))
	case 10:
		return "http://elsewhere" + target
	default:
		return "/" + path[1:] + "\xc3\xa9"
	}
}

// mutateHeaders returns changed headers, which the HTTP library accepts.
func mutateHeaders(random *rand.Rand, headers []string) []string {
	long := strings.Repeat("v", 1<<random.IntN(15))
	more := []string{
		"Content-Type: text/plain", "Content-Type: application/json; charset=latin1", "Content-Type: ;;", "Content-Type: application/json; charset=\"", "Content-Encoding: gzip",
		"Authorization: Basic YTpi", "Authorization: Bearer", "Authorization: " + long, "X-Request-Id: " + long, "X-Request-Id: a\tb", "X-Request-Id: 7", "Accept: image/png",
		"Accept-Encoding: gzip;q=x", "Expect: 100-continue", "Connection: close", "Connection: Upgrade", "Upgrade: h2c", "Range: bytes=0-1", "If-None-Match: *",
		"X-Forwarded-For: ::1", "X-HTTP-Method-Override: DELETE", "Cookie: " + long, "Origin: http://elsewhere", "Trailer: X", "X-A: \xff\xfe", "A: ", "Traceparent: 00-0-0-00",
	}
	line := more[random.IntN(len(more))]
	switch random.IntN(4) {
	case 0:
		at := 1 + random.IntN(len(headers)-1) // the Host header stays
		return slices.Delete(slices.Clone(headers), at, at+1)
	case 1:
		name, _, _ := strings.Cut(line, ":")
		replaced := slices.DeleteFunc(slices.Clone(headers), func(h string) bool { return strings.HasPrefix(h, name+":") })
		return append(replaced, line)
	case 2:
		many := slices.Clone(headers)
		for i := range 1 << random.IntN(9) {
			many = append(many, fmt.Sprintf("X-Many-%d: %d", i, i))
		}
		return many
	default:
		return append(slices.Clone(headers), line)
	}
}

// breakHead returns a changed head, which the HTTP library may reject.
func breakHead(random *rand.Rand, h requestHead) requestHead {
	switch random.IntN(11) {
	case 10:
		h.headers = append(h.headers, "Expect: tea")
	case 0:
		h.version = "HTTP/3.7"
	case 1:
		h.version = "HTTP/1.0"
	case 2:
		h.headers = h.headers[1:] // no Host
	case 3:
		h.headers = append(h.headers, "Host: twice")
	case 4:
		h.headers = append(h.headers, "Na me: v")
	case 5:
		h.headers = append(h.headers, "X: a\x00b")
	case 6:
		h.headers = append(h.headers, "X: "+strings.Repeat("v", 100<<10))
	case 7:
		h.headers = append(h.headers, "Transfer-Encoding: gzip")
	case 8:
		h.method = "GE T"
	default:
		h.target = "no/slash /and spaces"
	}
	return h
}
