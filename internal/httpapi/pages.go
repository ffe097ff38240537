package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/admission"
)

const (
	maxPages    = 16               // requests of pages in flight; a browser opens up to six connections
	pageTimeout = 45 * time.Second // of one page; with a longer timeout a slow page would occupy its slot for longer
)

// pagesRoute is the route of all pages in metrics and traces.
const pagesRoute = "GET /ui/"

// servePages serves the HTML pages, and passes other paths on to `next`. While the CPUs are overloaded, requests for pages
// have low priority: their admitted share falls twice as fast as that of predictions.
func (s *server) servePages(next http.Handler) http.Handler {
	if s.pages == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.pages.Handles(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		infoOf(r.Context()).route = pagesRoute
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		const lowPriority = true
		if !s.shedder.Admit(lowPriority) {
			s.reject(w, r, admission.ErrOverloaded)
			return
		}
		if err := s.pageGate.Enter(ctx, s.shedder.Overloaded()); err != nil {
			s.reject(w, r, err)
			return
		}
		defer s.pageGate.Leave()
		s.pages.ServeHTTP(w, r.WithContext(ctx))
	})
}
