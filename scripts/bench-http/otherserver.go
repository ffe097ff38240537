package main

import (
	"context"
	"os"
)

// otherServer is another model server, which already runs. bodyFile is the path of a file with a request body.
type otherServer struct{ url, bodyFile string }

// benchOtherServer measures row 16: single predictions by the other server and by the service in turn, with 16 connections.
// compare.sh pins the other server to the core of the service.
func (b *bench) benchOtherServer(ctx context.Context) error {
	body, err := os.ReadFile(b.other.bodyFile)
	if err != nil {
		return err
	}
	bodies := predictBodies(b.seed+1, predictedTask, 256, 1)
	if err := b.checkModelAnswers(ctx, bodies[0]); err != nil {
		return err
	}
	ours := load{url: b.server.url + "/predict", token: b.env.token, bodies: bodies, connections: 16, cpu: b.env.loadCPU, length: b.length}
	unseen, theirs := ours, ours
	unseen.bodies = withUnseenFeature(bodies)
	theirs.url, theirs.bodies = b.other.url, []string{string(body)}
	loads := []load{theirs, unseen, ours}
	var rates, p99 [3][]float64
	for round := range b.rounds + 1 { // round 0 is the warm-up
		for i := range loads {
			k := (i + round) % len(loads)
			s, err := loads[k].run(ctx)
			if err != nil {
				return err
			}
			if round > 0 {
				rates[k], p99[k] = append(rates[k], s.rate()), append(p99[k], s.P99)
			}
		}
	}
	b.printf("other server %.0f/s, p99 %.1f ms; predict, features never seen, %.0f/s, p99 %.1f ms; features seen before %.0f/s, p99 %.1f ms (medians of %d rounds of %s)",
		median(rates[0]), median(p99[0]), median(rates[1]), median(p99[1]), median(rates[2]), median(p99[2]), b.rounds, b.length)
	b.printf("predict/other ratio: %s, features seen before %s (goal 5)", ratioOf(rates[1], rates[0]), ratioOf(rates[2], rates[0]))
	b.printf("predict/other p99 ratio: %s, features seen before %s (goal at most 0.33)", ratioOf(p99[1], p99[0]), ratioOf(p99[2], p99[0]))
	return nil
}
