package client

import (
	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// NewPolicyRequest converts a policy into a request. It omits fields with default values. If the defaults of the server
// change later, the new defaults therefore apply to these fields.
func NewPolicyRequest(p *api.Policy) api.PolicyRequest {
	defaults := sizing.Policy{}.WithDefaults()
	r := api.PolicyRequest{FloorBytes: p.FloorBytes, CapBytes: p.CapBytes}
	if p.Mode != api.Mode(defaults.Mode) {
		r.Mode = &p.Mode
	}
	if p.RiskTarget != defaults.RiskTarget {
		r.RiskTarget = &p.RiskTarget
	}
	if p.MaxLifts != *defaults.MaxLifts {
		r.MaxLifts = &p.MaxLifts
	}
	if p.LimitRatio != defaults.LimitRatio {
		r.LimitRatio = &p.LimitRatio
	}
	if p.Grid != api.Grid(defaults.Grid) {
		r.Grid = &p.Grid
	}
	if p.Phases != "" && p.Phases != api.PhasesMode(defaults.Phases) { // older servers have no phases
		r.Phases = &p.Phases
	}
	if p.NeverAboveRequested {
		r.NeverAboveRequested = &p.NeverAboveRequested
	}
	if p.CPUUnmanaged {
		r.CPUUnmanaged = &p.CPUUnmanaged
	}
	if len(p.BinEdgesBytes) > 0 {
		r.BinEdgesBytes = &p.BinEdgesBytes
	}
	return r
}
