// Command demodata generates the demo history: 150 runs of a synthetic pricing pipeline of six tasks, which differ in
// region, numbers of products and stores, and sale period. A seed determines the rows. The command writes a gzip-compressed
// CSV to standard output:
//
//	go run ./scripts/demodata > testdata/demo/pricing.csv.gz
package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the random numbers")
	runs := flag.Int("runs", 150, "runs of the pipeline")
	flag.Parse()
	if err := write(os.Stdout, history(*seed, *runs)); err != nil {
		fmt.Fprintln(os.Stderr, "demodata:", err)
		os.Exit(1)
	}
}

// write writes a gzip-compressed CSV. The gzip header has no time, so that equal rows give equal bytes.
func write(w io.Writer, observations []sizing.Observation) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := file.Write(zip, observations); err != nil {
		return err
	}
	return zip.Close()
}

// stage is one task of the pipeline. With volume = products · (days/30)^stretch · weight of the region,
// the peak is
//
//	(base + slope · volume) · exp(noise · z)
//
// in GB (1e9 bytes), but at most 98 % of the requested memory. The duration is
//
//	(20 + seconds · volume / 1000) · exp(0.15 · z)
//
// in seconds. Each z is drawn from the standard normal distribution.
type stage struct {
	task      string
	requested sizing.Resources
	base      float64 // GB
	slope     float64 // GB per product, for a sale of 30 days in a region of weight 1
	stretch   float64 // exponent of the days of the sale
	noise     float64 // standard deviation of the logarithm of the peak
	cores     float64 // median of the largest CPU usage of a run
	seconds   float64 // seconds per 1,000 products, for a sale of 30 days in a region of weight 1
}

// pipeline has light, moderate and heavy stages. Two of them cause most of the waste.
var pipeline = []stage{
	{"extract_sales", sizing.Resources{Memory: 20e9, CPU: 4}, 0.25, 0.0001, 0, 0.20, 0.7, 200},
	{"clean_sales", sizing.Resources{Memory: 20e9, CPU: 4}, 0.60, 0.0009, 0.3, 0.10, 1.0, 160},
	{"build_features", sizing.Resources{Memory: 100e9, CPU: 5}, 1.20, 0.0030, 0.6, 0.08, 1.9, 500},
	{"predict_demand", sizing.Resources{Memory: 350e9, CPU: 6}, 0.90, 0.0042, 1.4, 0.06, 1.0, 900},
	{"simulate_discounts", sizing.Resources{Memory: 200e9, CPU: 20}, 1.50, 0.0050, 0.9, 0.07, 7.5, 1400},
	{"publish_prices", sizing.Resources{Memory: 20e9, CPU: 4}, 0.18, 0, 0, 0.04, 0.2, 30},
}

type inputs struct {
	region             string
	weight             float64 // relative amount of data of the region
	products, stores   int
	executed           time.Time
	saleStart, saleEnd time.Time
}

func history(seed uint64, runs int) []sizing.Observation {
	random := rand.New(rand.NewPCG(seed, 0))
	var all []sizing.Observation
	for run := range runs {
		s := draw(random, run)
		at := s.executed.Add(2 * time.Hour)
		for _, stage := range pipeline {
			o := stage.run(random, s, run, at)
			at = o.StartedAt.Add(o.Duration)
			all = append(all, o)
		}
	}
	return all
}

// draw draws the inputs of a run. Three runs are executed every two days.
func draw(random *rand.Rand, run int) inputs {
	regions := []struct {
		name   string
		weight float64
	}{{"emea", 1.25}, {"amer", 1.0}, {"apac", 0.85}, {"other", 0.6}}
	region := regions[random.IntN(len(regions))]
	executed := time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC).AddDate(0, 0, run*2/3)
	starts := executed.AddDate(0, 0, 3+random.IntN(25))
	return inputs{
		region: region.name, weight: region.weight,
		products: int(math.Min(60+math.Exp(6.3+0.9*random.NormFloat64()), 6000)),
		stores:   1 + random.IntN(60),
		executed: executed, saleStart: starts, saleEnd: starts.AddDate(0, 0, 7+random.IntN(80)),
	}
}

func (g stage) run(random *rand.Rand, s inputs, run int, start time.Time) sizing.Observation {
	days := s.saleEnd.Sub(s.saleStart).Hours() / 24
	volume := float64(s.products) * math.Pow(days/30, g.stretch) * s.weight
	jitter := func(deviation float64) float64 { return math.Exp(deviation * random.NormFloat64()) }
	peak := (g.base + g.slope*volume) * jitter(g.noise)
	seconds := (20 + g.seconds*volume/1000) * jitter(0.15)
	return sizing.Observation{
		Try: sizing.TryKey{
			TaskKey:  sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "pricing", Task: g.task},
			RunID:    fmt.Sprintf("%s__%s__%03d", s.region, s.executed.Format(time.DateOnly), run),
			MapIndex: sizing.NoMap, Number: 1,
		},
		Outcome:   sizing.Success,
		StartedAt: start,
		Duration:  time.Duration(math.Round(seconds*10)) * 100 * time.Millisecond,
		Requested: g.requested,
		// Rounded to 100 kB, so that floating-point differences between machines do not change the peak.
		MemoryMax: sizing.Bytes(math.Round(math.Min(peak, 0.98*float64(g.requested.Memory)/1e9)*1e4)) * 1e5,
		CPUMax:    sizing.Cores(math.Round(g.cores*jitter(0.08)*1000) / 1000),
		Features: sizing.Features{
			"region":         sizing.TextValue(s.region),
			"product_count":  sizing.NumberValue(float64(s.products)),
			"store_count":    sizing.NumberValue(float64(s.stores)),
			"sale_start":     sizing.TextValue(s.saleStart.Format(time.DateOnly)),
			"sale_end":       sizing.TextValue(s.saleEnd.Format(time.DateOnly)),
			"execution_date": sizing.TextValue(s.executed.Format(time.DateOnly)),
		},
	}
}
