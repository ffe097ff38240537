package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// benchSteady measures row 2 of bench.table: the latency at half of the maximum rate while the service also receives reports
// and trains. The echo server is measured during the same background work. Both servers may use all cores and share them
// with the load generator.
func (b *bench) benchSteady(ctx context.Context) error {
	server, err := b.env.serve(ctx, "", b.env.db.DSN())
	if err != nil {
		return err
	}
	echo, err := b.env.serveEcho(ctx, "")
	if err != nil {
		return err
	}
	bodies := predictBodies(b.seed+3, predictedTask, 256, 1)
	busy, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	load := &background{bench: b, server: server}
	work.Go(func() { load.observe(busy) })
	work.Go(func() { load.train(busy) })
	defer work.Wait()
	defer stop()
	ours := openLoop{url: server.url + "/predict", token: b.env.token, bodies: bodies, length: max(b.length, 3*time.Second)}
	halfOfMaximum := func() float64 {
		// The median of three measurements, because other load on the machine varies.
		return median([]float64{ours.measureMaximum(ctx), ours.measureMaximum(ctx), ours.measureMaximum(ctx)}) / 2
	}
	ours.rate = halfOfMaximum()
	var p99, p999, echo99, echo999 []float64
	sent, failed := 0, 0
	for round := range max(3, b.rounds/2) {
		service, echoed := ours.runPair(ctx, echo, round%2 == 1)
		for retry := 0; service.errors > 0 && retry < 2; retry++ {
			previous := ours.rate
			ours.rate = halfOfMaximum() // other load on the machine may have increased since the last measurement
			b.printf("at %.0f/s %d requests failed; half of the maximum is now %.0f/s: repeating the round", previous, service.errors, ours.rate)
			service, echoed = ours.runPair(ctx, echo, round%2 == 1)
		}
		sent, failed = sent+len(service.latencies), failed+service.errors
		p99, echo99 = append(p99, millis(service.quantile(0.99))), append(echo99, millis(echoed.quantile(0.99)))
		p999, echo999 = append(p999, millis(service.quantile(0.999))), append(echo999, millis(echoed.quantile(0.999)))
	}
	stop()
	work.Wait()
	b.printf("%.0f predictions/s, half of the maximum, while %d runs were reported and %d trainings ended", ours.rate, load.reports, load.trainings)
	b.printf("predict p99 %.1f ms, p99.9 %.1f ms; echo p99 %.1f ms, p99.9 %.1f ms (medians of the rounds)", median(p99), median(p999), median(echo99), median(echo999))
	b.printf("predict/echo p99 ratio: %s (goal at most 1.5)", ratioOf(p99, echo99))
	b.printf("predict/echo p99.9 ratio: %s (goal at most 1.5)", ratioOf(p999, echo999))
	b.printf("errors: %d of %d requests", failed, sent)
	if failed > 0 {
		return fmt.Errorf("%d of %d requests failed", failed, sent)
	}
	return nil
}

// runPair sends requests to a server and to the echo server, one after the other, at the same rate.
func (p openLoop) runPair(ctx context.Context, echo *server, echoFirst bool) (ours, theirs openLoopResult) {
	to := p
	to.url = echo.url + "/"
	if echoFirst {
		theirs = to.run(ctx)
		return p.run(ctx), theirs
	}
	ours = p.run(ctx)
	return ours, to.run(ctx)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type background struct {
	*bench
	server             *server
	reports, trainings int
}

// observe reports 50 runs of a second task twice per second.
func (g *background) observe(ctx context.Context) {
	r := newRandom(g.seed + 4)
	for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		batch := make([]object, 50)
		for i := range batch {
			batch[i] = observeRequest(r, "background", fmt.Sprintf("background-%d", g.reports+i), time.Now().UTC())
		}
		if g.env.call(ctx, g.server.url+"/observe/batch", object{"observations": batch}, nil) == nil {
			g.reports += len(batch)
		}
	}
}

func (g *background) train(ctx context.Context) {
	for ctx.Err() == nil {
		if g.env.call(ctx, g.server.url+"/tasks/"+dagID+"/background/train", object{}, nil) == nil {
			g.trainings++
		}
		time.Sleep(200 * time.Millisecond)
	}
}
