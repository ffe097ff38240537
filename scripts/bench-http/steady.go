package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// steady is row 2: latency at half of the maximum, at a fixed rate, while the same
// server observes and trains; the echo is asked beside the same work. Both have all
// cores, as they would in a pod, and share them with what asks.
func (b *bench) steady(ctx context.Context) error {
	server, err := b.place.serve(ctx, "", b.place.db.DSN())
	if err != nil {
		return err
	}
	echo, err := b.place.serveEcho(ctx, "")
	if err != nil {
		return err
	}
	bodies := asks(b.seed+3, name, 256, 1)
	busy, rest := context.WithCancel(ctx)
	var work sync.WaitGroup
	told := &background{bench: b, server: server}
	work.Go(func() { told.observe(busy) })
	work.Go(func() { told.train(busy) })
	defer work.Wait()
	defer rest()
	ours := pace{url: server.url + "/predict", token: b.place.token, bodies: bodies, span: max(b.span, 3*time.Second)}
	half := func() float64 { return median([]float64{ours.most(ctx), ours.most(ctx), ours.most(ctx)}) / 2 }
	ours.rate = half()
	var p99, p999, echo99, echo999 []float64
	asked, failed := 0, 0
	for round := range max(3, b.rounds/2) {
		a, e := ours.beside(ctx, echo, round%2 == 1)
		for retry := 0; a.errors > 0 && retry < 2; retry++ {
			was := ours.rate
			ours.rate = half() // others may have taken a part of the machine since it was looked for
			b.say("at %.0f/s %d questions were not answered; half of the maximum is %.0f/s now: the round is played again", was, a.errors, ours.rate)
			a, e = ours.beside(ctx, echo, round%2 == 1)
		}
		asked, failed = asked+len(a.took), failed+a.errors
		p99, echo99 = append(p99, millis(a.at(0.99))), append(echo99, millis(e.at(0.99)))
		p999, echo999 = append(p999, millis(a.at(0.999))), append(echo999, millis(e.at(0.999)))
	}
	rest()
	work.Wait()
	b.say("%.0f/s, half of the maximum beside that work; %d runs were reported and %d trainings ended", ours.rate, told.reports, told.trainings)
	b.say("predict p99 %.1f ms, p99.9 %.1f ms; echo p99 %.1f ms, p99.9 %.1f ms (medians of the rounds)", median(p99), median(p999), median(echo99), median(echo999))
	b.say("predict/echo p99 ratio: %s (goal at most 1.5)", ratioOf(p99, echo99))
	b.say("predict/echo p99.9 ratio: %s (goal at most 1.5)", ratioOf(p999, echo999))
	b.say("errors: %d of %d questions", failed, asked)
	if failed > 0 {
		return fmt.Errorf("%d of %d questions were not answered", failed, asked)
	}
	return nil
}

// beside asks a server and the echo at the same rate, one after the other.
func (p pace) beside(ctx context.Context, echo *server, echoFirst bool) (ours, theirs paced) {
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

// background is what else the server does.
type background struct {
	*bench
	server             *server
	reports, trainings int
}

// observe reports fifty runs of another task, twice a second.
func (g *background) observe(ctx context.Context) {
	r := dice(g.seed + 4)
	for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		batch := make([]object, 50)
		for i := range batch {
			batch[i] = report(r, "background", fmt.Sprintf("background-%d", g.reports+i), time.Now().UTC())
		}
		if g.place.call(ctx, g.server.url+"/observe/batch", object{"observations": batch}, nil) == nil {
			g.reports += len(batch)
		}
	}
}

// train trains that task again and again.
func (g *background) train(ctx context.Context) {
	for ctx.Err() == nil {
		if g.place.call(ctx, g.server.url+"/tasks/"+dag+"/background/train", object{}, nil) == nil {
			g.trainings++
		}
		time.Sleep(200 * time.Millisecond)
	}
}
