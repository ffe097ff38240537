package httpapi

import (
	"context"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// GetPolicy returns the policy in force.
func (s *server) GetPolicy(ctx context.Context, r api.GetPolicyRequestObject) (api.GetPolicyResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	p, err := s.svc.Policy(ctx, key)
	if err != nil {
		return nil, err
	}
	if p.IsZero() {
		if err := s.checkExists(ctx, key); err != nil {
			return nil, err
		}
	}
	return api.GetPolicy200JSONResponse(policyAnswer(p)), nil
}

// PutPolicy replaces the policy.
func (s *server) PutPolicy(ctx context.Context, r api.PutPolicyRequestObject) (api.PutPolicyResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	p, err := readPolicy(r.Body)
	if err != nil {
		return nil, err
	}
	if err := s.svc.SetPolicy(ctx, key, p); err != nil {
		return nil, err
	}
	return api.PutPolicy200JSONResponse(policyAnswer(p)), nil
}

// readPolicy converts a policy. It rejects a number 0 or an empty text in the request, except for max_lifts, because the
// zero value of a field of sizing.Policy means the default.
func readPolicy(b *api.PolicyRequest) (sizing.Policy, error) {
	var f fieldReader
	p := sizing.Policy{
		Mode:         sizing.Mode(valueOr(b.Mode, "")),
		Floor:        f.memory("floor", b.FloorBytes, b.Floor),
		Cap:          f.memory("cap", b.CapBytes, b.Cap),
		RiskTarget:   valueOr(b.RiskTarget, 0),
		MaxLifts:     b.MaxLifts,
		LimitRatio:   valueOr(b.LimitRatio, 0),
		NeverAbove:   valueOr(b.NeverAboveRequested, false),
		CPUUnmanaged: valueOr(b.CPUUnmanaged, false),
		Grid:         sizing.Grid(valueOr(b.Grid, "")),
		Phases:       sizing.PhasesMode(valueOr(b.Phases, "")),
	}
	for _, edge := range valueOr(b.BinEdgesBytes, nil) {
		p.Edges = append(p.Edges, sizing.Bytes(edge))
	}
	if b.Mode != nil && *b.Mode == "" {
		f.add("mode", "must be enforce, shadow or off")
	}
	if b.Grid != nil && *b.Grid == "" {
		f.add("grid", "must be fine or bins")
	}
	if b.Phases != nil && *b.Phases == "" {
		f.add("phases", "must be off, observe, cpu or memory")
	}
	if b.RiskTarget != nil && *b.RiskTarget == 0 {
		f.add("risk_target", "must be 0.0001 to 0.5")
	}
	if b.LimitRatio != nil && *b.LimitRatio == 0 {
		f.add("limit_ratio", "must be 1 to 10")
	}
	checked := p
	if p.Cap >= sizing.MiB && p.Floor > p.Cap && p.Floor <= sizing.MaxBytes {
		f.add(amountField("floor", b.FloorBytes), "must not be above %s", amountField("cap", b.CapBytes))
		checked.Floor = 0 // so that Validate does not report the same error again
	}
	return p, f.err(checked.Validate)
}

func amountField(field string, bytes *int64) string {
	if bytes != nil {
		return field + "_bytes"
	}
	return field
}

func policyAnswer(p sizing.Policy) api.Policy {
	p = p.WithDefaults()
	answer := api.Policy{
		Mode: api.Mode(p.Mode), RiskTarget: p.RiskTarget, MaxLifts: *p.MaxLifts, LimitRatio: p.LimitRatio,
		NeverAboveRequested: p.NeverAbove, CPUUnmanaged: p.CPUUnmanaged, Grid: api.Grid(p.Grid), Phases: api.PhasesMode(p.Phases),
	}
	for _, edge := range p.Edges {
		answer.BinEdgesBytes = append(answer.BinEdgesBytes, int64(edge))
	}
	answer.FloorBytes, answer.Floor = amountAnswer(p.Floor)
	answer.CapBytes, answer.Cap = amountAnswer(p.Cap)
	return answer
}
