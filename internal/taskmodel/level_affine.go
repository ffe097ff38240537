package taskmodel

import "math"

// affine maps a peak to exp(Log)·peak + Bytes.
type affine struct {
	_     struct{} `cbor:",toarray"`
	Log   float64
	Bytes float64
}

// minAffineShare is the smallest ratio of a mapped peak to exp(Log)·peak. If the peaks return to an earlier level, the map may
// subtract more bytes than a small peak has.
const minAffineShare = 1. / 16

// shift returns the log factor by which the map changes a peak, given as its logarithm.
func (a affine) shift(log float64) float64 {
	if a.Bytes == 0 {
		return a.Log
	}
	return a.Log + math.Log(max(minAffineShare, 1+a.Bytes*math.Exp(-log-a.Log)))
}

// apply returns the mapped peak in bytes, at least 1.
func (a affine) apply(peak float64) float64 {
	return math.Max(1, peak*math.Exp(a.shift(math.Log(math.Max(1, peak)))))
}

// then returns the map that applies a and then b.
func (a affine) then(b affine) affine {
	return affine{Log: a.Log + b.Log, Bytes: a.Bytes*math.Exp(b.Log) + b.Bytes}
}

func (a affine) inverse() affine { return affine{Log: -a.Log, Bytes: -a.Bytes * math.Exp(-a.Log)} }
