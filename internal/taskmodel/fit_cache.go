package taskmodel

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// WaitIdle waits until a channel is closed. The caller must hold one unit of workers, a semaphore with one unit for each
// worker. During the wait, WaitIdle releases this unit, so that other goroutines can use it.
func WaitIdle(workers *semaphore.Weighted, closed <-chan struct{}) {
	select {
	case <-closed:
		return
	default:
	}
	workers.Release(1)
	<-closed
	_ = workers.Acquire(context.Background(), 1) // only a cancelled context is an error
}

// FitCache makes the trainings of replays cheaper. If a worker is idle, a fit uses it as a second worker. Models with equal
// rows, such as the models of one task in replays with different settings, share one fit of the trees and of the classifiers.
// The key of a fit is a hash of its whole input, so a cached fit gives the same amounts, bit for bit. Models with a FitCache
// have no Drivers and no Ambiguity, which do not affect amounts. A FitCache is safe for concurrent use. The models that answer
// predictions use no FitCache; replays such as those of a what-if question use one.
type FitCache struct {
	workers  *semaphore.Weighted // one unit per worker; the caller of a training holds one unit
	capacity int                 // largest number of cached fits; 0: no cache
	seeds    [2]maphash.Seed

	mu    sync.Mutex
	fits  map[fitHash]*cachedFit
	order []fitHash // keys of fits, oldest first
}

// NewFitCache returns a cache that holds the newest fits, at most capacity of them. With capacity 0 it caches nothing, and
// only lets fits use idle workers.
func NewFitCache(workers *semaphore.Weighted, capacity int) *FitCache {
	return &FitCache{workers: workers, capacity: capacity, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, fits: map[fitHash]*cachedFit{}}
}

// SetFitCache makes the trainings of a model use a cache; nil means no cache.
func (m *Model) SetFitCache(fits *FitCache) { m.fits = fits }

type fitHash [2]uint64

// hash returns the key of a fit with the given input. `parameters` must be comparable.
func (f *FitCache) hash(parameters any, numbers ...[]float64) (hash fitHash) {
	for i, seed := range f.seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		maphash.WriteComparable(&h, parameters)
		for _, values := range numbers {
			maphash.WriteComparable(&h, len(values))
			for _, v := range values {
				bits := math.Float64bits(v)
				_, _ = h.Write([]byte{ // a hash returns no error
					byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24), byte(bits >> 32), byte(bits >> 40), byte(bits >> 48), byte(bits >> 56),
				})
			}
		}
		hash[i] = h.Sum64()
	}
	return hash
}

// cachedFit is a fit that runs or has ended.
type cachedFit struct {
	ended  chan struct{} // closed when the fit has ended
	result any
	err    error
}

var errPanic = errors.New("the fit panicked; report this error")

func fitOnce[T any](f *FitCache, hash func() fitHash, fit func() (T, error)) (T, error) {
	if f == nil || f.capacity == 0 {
		return fit()
	}
	cached, isNew := f.findOrAdd(hash())
	if !isNew {
		WaitIdle(f.workers, cached.ended)
		result, _ := cached.result.(T)
		return result, cached.err
	}
	defer close(cached.ended)
	cached.err = errPanic // remains only if fit panics
	result, err := fit()
	cached.result, cached.err = result, err
	return result, err
}

// findOrAdd returns the fit with the given key. If isNew is true, it has added this fit, and the caller must run it and close
// its channel `ended`.
func (f *FitCache) findOrAdd(hash fitHash) (cached *cachedFit, isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cached = f.fits[hash]; cached != nil {
		return cached, false
	}
	if len(f.order) == f.capacity {
		delete(f.fits, f.order[0])
		f.order = f.order[1:]
	}
	cached = &cachedFit{ended: make(chan struct{})}
	f.fits[hash] = cached
	f.order = append(f.order, hash)
	return cached, true
}

// runBoth runs two independent functions, at the same time if a worker is idle.
func (f *FitCache) runBoth(first, second func() error) error {
	if f == nil || !f.workers.TryAcquire(1) {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
	ended, secondErr := make(chan struct{}), errPanic
	go func() {
		defer close(ended)
		defer f.workers.Release(1)
		defer func() {
			if r := recover(); r != nil {
				secondErr = fmt.Errorf("%w: %v", errPanic, r)
			}
		}()
		secondErr = second()
	}()
	err := first()
	WaitIdle(f.workers, ended)
	return errors.Join(err, secondErr)
}

// ensembles holds the boosted trees of one fit: the fields Trees, Resid and Spread of models.
type ensembles struct {
	trees, resid, spread *gbt.Regressor
}

type ensembleInput struct {
	table   *table.Table // with the log peaks and the weights
	base    []float64    // predictions of the line, the ridge regression of the log peak
	spreads []float64    // targets of the trees that predict the spread, by row; see spreadTargets
	known   []int        // indices of the rows with a target in spreads; empty: no spread is fitted
	config  gbt.Config
}

func (in *ensembleInput) hash(f *FitCache) fitHash {
	rows := make([]float64, len(in.known))
	for i, r := range in.known {
		rows[i] = float64(r)
	}
	return f.hash(in.config, in.table.X, in.table.Y, in.table.W, in.base, in.spreads, rows)
}

func (in *ensembleInput) fit(f *FitCache) (e ensembles, err error) {
	binned, err := gbt.NewBinned(in.table, in.config.MaxBins)
	if err != nil {
		return e, err
	}
	err = f.runBoth(func() (err error) {
		e.trees, err = gbt.Sample{Binned: binned, Y: in.table.Y, W: in.table.W}.Regression(in.config)
		return err
	}, func() (err error) {
		if e.resid, err = (gbt.Sample{Binned: binned, Y: in.table.Y, W: in.table.W, Base: in.base}).Regression(in.config); err != nil || len(in.known) == 0 {
			return err
		}
		e.spread, err = gbt.Sample{Binned: binned, Y: in.spreads, Train: in.known}.Regression(spreadConfig(in.config.Seed + 1))
		return err
	})
	return e, err
}

func spreadConfig(seed uint64) gbt.Config {
	return gbt.Config{Rounds: 40, LearningRate: 0.1, MaxDepth: 3, MinLeafRows: 20, Lambda: 10, Subsample: 0.8, Seed: seed}
}
