package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

// route is the admission rule of one operation.
type route struct {
	public        bool            // no token needed
	hasFeatures   bool            // whether query parameters that openapi.yaml does not list are features
	hasSideEffect bool            // whether a GET stores data; a page of another origin must not send such a GET
	roles         []auth.Role     // sufficient roles besides admin
	maxBody       int64           // bytes
	timeout       time.Duration   // of the whole request
	gate          *admission.Gate // bounds the requests in flight; nil: no bound
}

// newRoutes creates the table of the admission rules, by method and path. Only admins may call an operation that has
// no entry, or an entry without roles that is not public.
func newRoutes(limits admission.Limits) map[string]route {
	limits = limits.WithDefaults()
	predictGate := admission.NewGate(limits.Predict, nil)
	observeGate, batchGate := admission.NewGate(limits.Observe, predictGate), admission.NewGate(limits.Batch, nil)
	predictRoles, observeRoles, readRoles := []auth.Role{auth.RolePredict}, []auth.Role{auth.RoleObserve}, []auth.Role{auth.RolePredict, auth.RoleObserve}
	campaignRoles, readCampaignRoles := []auth.Role{auth.RoleCampaign}, []auth.Role{auth.RoleCampaign, auth.RolePredict, auth.RoleObserve}
	const single, batch = admission.SingleBody, admission.BatchBody
	// Timeouts, named after the slowest part of an operation. With longer timeouts a slow request would occupy its slot for longer.
	const fromMemory, oneCommit, query, training = 5 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute
	const task, campaign = "/tasks/{dag_id}/{task_id}", "/campaigns/{campaign}"
	return map[string]route{
		"POST /predict":       {roles: predictRoles, maxBody: single, timeout: fromMemory, gate: predictGate},
		"GET /predict":        {hasFeatures: true, hasSideEffect: true, roles: predictRoles, timeout: fromMemory, gate: predictGate},
		"POST /predict/batch": {roles: predictRoles, maxBody: batch, timeout: query, gate: batchGate},
		"POST /retry-lift":    {roles: predictRoles, maxBody: single, timeout: fromMemory, gate: predictGate},
		"POST /phase":         {roles: predictRoles, maxBody: single, timeout: fromMemory, gate: predictGate},
		"POST /explain":       {roles: predictRoles, maxBody: single, timeout: query, gate: batchGate},
		"POST /observe":       {roles: observeRoles, maxBody: single, timeout: oneCommit, gate: observeGate},
		"POST /observe/batch": {roles: observeRoles, maxBody: batch, timeout: query, gate: batchGate},
		"POST /observe/void":  {roles: observeRoles, maxBody: single, timeout: oneCommit, gate: observeGate},

		"GET /tasks":                                   {roles: readRoles, timeout: query},
		"GET " + task:                                  {roles: readRoles, timeout: query},
		"GET " + task + "/models":                      {roles: readRoles, timeout: query},
		"GET " + task + "/policy":                      {roles: readRoles, timeout: query},
		"GET " + task + "/series":                      {roles: observeRoles, timeout: query},
		"GET " + task + "/runtime":                     {hasFeatures: true, roles: readRoles, timeout: query, gate: batchGate},
		"GET " + task + "/runtime/whatif":              {hasFeatures: true, roles: readRoles, timeout: query, gate: batchGate},
		"GET " + task + "/phases":                      {roles: readRoles, timeout: query, gate: batchGate},
		"GET /predictions/{prediction_id}":             {roles: readRoles, timeout: query},
		"GET /predictions/{prediction_id}/explanation": {roles: readRoles, timeout: query, gate: batchGate},
		"PUT " + task + "/policy":                      {maxBody: single, timeout: query},
		"POST " + task + "/models/{version}/activate":  {timeout: query},
		"DELETE " + task + "/pin":                      {timeout: query},
		"GET /savings":                                 {roles: readRoles, timeout: query},
		"GET /report":                                  {roles: readRoles, timeout: query},
		"GET /audit":                                   {timeout: query},
		"POST " + task + "/train":                      {timeout: training},
		"POST " + task + "/rename":                     {maxBody: single, timeout: query},
		"DELETE " + task:                               {timeout: query},

		"POST /whatif":               {roles: readRoles, maxBody: single, timeout: query, gate: batchGate},
		"GET /whatif/{whatif_id}":    {roles: readRoles, timeout: query},
		"DELETE /whatif/{whatif_id}": {roles: readRoles, timeout: query},

		"PUT /dags/{dag_id}/structure": {roles: observeRoles, maxBody: single, timeout: query},
		"GET /dags/{dag_id}/forecast":  {hasFeatures: true, roles: readRoles, timeout: query, gate: batchGate},

		"GET /profiles":              {roles: readRoles, timeout: query},
		"GET /profiles/{profile_id}": {roles: readRoles, timeout: query},

		"GET /experiments":              {roles: readRoles, timeout: query},
		"GET /experiments/{experiment}": {roles: readRoles, timeout: query},
		"POST /experiments":             {maxBody: batch, timeout: query},

		"GET /campaigns":                        {roles: readCampaignRoles, timeout: query},
		"POST /campaigns":                       {roles: campaignRoles, maxBody: single, timeout: query},
		"GET " + campaign:                       {roles: readCampaignRoles, timeout: query},
		"POST " + campaign + "/claim":           {roles: campaignRoles, maxBody: single, timeout: query},
		"POST " + campaign + "/pause":           {roles: campaignRoles, timeout: query},
		"POST " + campaign + "/release":         {roles: campaignRoles, maxBody: single, timeout: query},
		"POST " + campaign + "/resume":          {roles: campaignRoles, maxBody: single, timeout: query},
		"GET " + campaign + "/runs":             {roles: readCampaignRoles, timeout: query},
		"POST " + campaign + "/runs":            {roles: campaignRoles, maxBody: batch, timeout: query},
		"POST " + campaign + "/runs/{n}/reset":  {roles: campaignRoles, maxBody: single, timeout: query},
		"POST " + campaign + "/runs/{n}/result": {roles: campaignRoles, maxBody: single, timeout: query},
		"GET " + campaign + "/runs/{n}/tasks":   {roles: readCampaignRoles, timeout: query},

		"GET /healthz":      {public: true, timeout: fromMemory},
		"GET /readyz":       {public: true, timeout: fromMemory},
		"GET /openapi.yaml": {public: true, timeout: fromMemory},
		"GET /docs":         {public: true, timeout: fromMemory},
	}
}

// routeOfGET returns the rule of a GET of a path without parameters, or the zero rule.
func (s *server) routeOfGET(path string) route { return s.routes["GET "+path] }

// admit applies the rule of a routed request: role, query parameters, deadline, load shedding, body size and
// requests in flight.
func (s *server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := infoOf(r.Context())
		info.route = routeKey(r)
		rule := s.routes[info.route]
		if !rule.public {
			if info.grants = info.grants.WithRole(rule.roles); len(info.grants) == 0 {
				s.fail(w, r, auth.RoleError(rule.roles))
				return
			}
		}
		if err := rule.checkQuery(info.route, info.query); err != nil {
			s.fail(w, r, err)
			return
		}
		rule.setDeadlines(w)
		ctx, cancel := context.WithTimeout(r.Context(), cmp.Or(rule.timeout, time.Minute))
		defer cancel()
		if rule.gate != nil && !s.shedder.Admit(rule.gate.YieldsToPriority()) {
			s.reject(w, r, admission.ErrOverloaded)
			return
		}
		if len(info.grants) > 0 {
			ctx = sizing.WithActor(ctx, info.grants[0].Identity())
		}
		r = r.WithContext(ctx)
		rule.discardTooLarge(r)
		r.Body = http.MaxBytesReader(w, r.Body, rule.maxBody)
		buffer, err := s.bufferBody(ctx, r, &rule)
		defer buffer.Release()
		if err == nil {
			err = rule.gate.Enter(ctx, s.shedder.Overloaded())
		}
		if err != nil {
			s.reject(w, r, err)
			return
		}
		defer rule.gate.Leave()
		next.ServeHTTP(w, r)
	})
}

// maxDiscarded is the largest number of bytes by which a discarded body may exceed the limit. With a larger number a client
// could make the server read more bytes that it does not use.
const maxDiscarded = 16 << 20

// discardTooLarge reads a body that declares more bytes than the route accepts, because most clients read the answer only
// after they have sent the body, and net/http would close the connection while they still send. discardTooLarge reads no
// body that is larger by more than maxDiscarded, and no body of a client that waits for the status 100 (Continue). The read
// deadline bounds the time.
func (rule *route) discardTooLarge(r *http.Request) {
	excess := r.ContentLength - rule.maxBody
	if rule.maxBody > 0 && excess > 0 && excess <= maxDiscarded && r.Header.Get("Expect") == "" {
		_, _ = io.Copy(io.Discard, r.Body) // the answer is 413, even if this fails
	}
}

func (s *server) reject(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, admission.ErrOverloaded) {
		s.metrics.countRejected(infoOf(r.Context()).route)
	}
	s.fail(w, r, err)
}

// sendTime is the time that a caller may take to receive an answer.
const sendTime = time.Minute

// setDeadlines replaces the read timeout of the http.Server if the route has a body, because a body that
// arrives slowly occupies a buffer or a slot of a gate. It replaces the write timeout if the timeout of the
// route is longer than sendTime, as for a training.
func (rule *route) setDeadlines(w http.ResponseWriter) {
	conn, now := http.NewResponseController(w), time.Now()
	if rule.maxBody > 0 {
		_ = conn.SetReadDeadline(now.Add(rule.timeout)) // fails in tests without a connection
	}
	if rule.timeout > sendTime {
		_ = conn.SetWriteDeadline(now.Add(rule.timeout + sendTime)) // fails in the same tests
	}
}

func routeKey(r *http.Request) string {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + chi.RouteContext(r.Context()).RoutePattern()
}
