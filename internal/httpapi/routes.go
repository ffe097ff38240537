package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Bytes of a request body.
const (
	singleBody = 1 << 20
	batchBody  = 32 << 20
)

// route is what is asked of a request before its handler sees it.
type route struct {
	public  bool          // needs no token
	lasting bool          // a GET that stores something: no page of another origin may send it
	roles   []Role        // that suffice; admin always does
	body    int64         // most bytes of a body
	timeout time.Duration // of the whole
	gate    *gate         // nil: as many as come
}

// newRoutes is the table of who may do what, how large, how long and how many at
// once. A path that is not in it is open to admins only.
func newRoutes(limits Limits) map[string]route {
	limits = limits.withDefaults()
	asking := newGate(limits.Predict, nil)
	telling, batches := newGate(limits.Observe, asking), newGate(limits.Batch, nil)
	ask, tell, read := []Role{RolePredict}, []Role{RoleObserve}, []Role{RolePredict, RoleObserve}
	const quick, told, slow, training = 5 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute
	const task = "/tasks/{dag_id}/{task_id}"
	return map[string]route{
		"POST /predict":       {roles: ask, body: singleBody, timeout: quick, gate: asking},
		"GET /predict":        {lasting: true, roles: ask, timeout: quick, gate: asking},
		"POST /predict/batch": {roles: ask, body: batchBody, timeout: slow, gate: batches},
		"POST /retry-lift":    {roles: ask, body: singleBody, timeout: quick, gate: asking},
		"POST /observe":       {roles: tell, body: singleBody, timeout: told, gate: telling},
		"POST /observe/batch": {roles: tell, body: batchBody, timeout: slow, gate: batches},
		"POST /observe/void":  {roles: tell, body: singleBody, timeout: told, gate: telling},

		"GET /tasks":                                  {roles: read, timeout: slow},
		"GET " + task:                                 {roles: read, timeout: slow},
		"GET " + task + "/models":                     {roles: read, timeout: slow},
		"GET " + task + "/policy":                     {roles: read, timeout: slow},
		"GET " + task + "/series":                     {roles: tell, timeout: slow},
		"GET /predictions/{prediction_id}":            {roles: read, timeout: slow},
		"PUT " + task + "/policy":                     {body: singleBody, timeout: slow},
		"POST " + task + "/models/{version}/activate": {timeout: slow},
		"DELETE " + task + "/pin":                     {timeout: slow},
		"GET /audit":                                  {timeout: slow},
		"POST " + task + "/train":                     {timeout: training},
		"POST " + task + "/rename":                    {body: singleBody, timeout: slow},
		"DELETE " + task:                              {timeout: slow},

		"GET /experiments":              {roles: read, timeout: slow},
		"GET /experiments/{experiment}": {roles: read, timeout: slow},
		"POST /experiments":             {body: batchBody, timeout: slow},

		"GET /healthz":      {public: true, timeout: quick},
		"GET /readyz":       {public: true, timeout: quick},
		"GET /openapi.yaml": {public: true, timeout: quick},
		"GET /docs":         {public: true, timeout: quick},
	}
}

// readRoute is the route of a GET of a path without parameters; its zero value if there
// is none.
func (s *server) readRoute(path string) route { return s.routes["GET "+path] }

// admit holds a routed request to its line of the table: role, deadline, number
// at once, size.
func (s *server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		c.route = routed(r)
		rule := s.routes[c.route]
		if !rule.public && !c.holds(rule.roles) {
			s.fail(w, r, wrongRole(rule.roles))
			return
		}
		rule.bound(w)
		ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(rule.timeout, time.Minute))
		defer cancel()
		if rule.gate != nil && !s.press.admits(rule.gate.yieldsTo != nil) {
			s.refuse(w, r, errCrowded)
			return
		}
		if len(c.held) > 0 {
			ctx = sizing.WithActor(ctx, c.held[0].bearer())
		}
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, rule.body)
		lent, err := s.bodies.read(ctx, r, &rule)
		defer lent.giveBack()
		if err == nil {
			err = rule.gate.enter(ctx, s.press.crowded())
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		defer rule.gate.leave()
		next.ServeHTTP(w, r)
	})
}

// refuse tells who was not let in, and counts those for whom there was no room.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errCrowded) {
		s.metrics.crowded(callOf(r.Context()).route)
	}
	s.fail(w, r, err)
}

// routed is the line of the table that r was routed to. HEAD is served as GET.
func routed(r *http.Request) string {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + chi.RouteContext(r.Context()).RoutePattern()
}
