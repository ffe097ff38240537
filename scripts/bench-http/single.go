package main

import (
	"context"
	"fmt"
	"regexp"
)

// predictBodies returns bodies of /predict if `batch` is 1, otherwise of /predict/batch with `batch` tasks each.
func predictBodies(seed uint64, task string, bodies, batch int) []string {
	r := newRandom(seed)
	all := make([]string, bodies)
	for i := range all {
		if batch == 1 {
			all[i] = text(predictRequest(r, task, "scheduled__"+counterPlaceholder))
			continue
		}
		tasks := make([]object, batch)
		for j := range tasks {
			tasks[j] = predictRequest(r, task, "scheduled__"+counterPlaceholder)
		}
		all[i] = text(object{"tasks": tasks})
	}
	return all
}

var oneFeature = regexp.MustCompile(`"elasticity":[-+.eE0-9]+`)

// withUnseenFeature gives each request a feature value that no other request has, so that no answer can come from a cache.
func withUnseenFeature(bodies []string) []string {
	all := make([]string, len(bodies))
	for i, body := range bodies {
		all[i] = oneFeature.ReplaceAllString(body, `"elasticity":0.`+counterPlaceholder)
	}
	return all
}

type turn struct {
	load
	server *server
}

type turnResult struct {
	rates []float64 // requests per second
	cost  []float64 // microseconds of the server's CPU time per request
}

// runTurns runs all loads in turn; every second round has the reverse order.
func runTurns(ctx context.Context, rounds int, all ...turn) ([]turnResult, error) {
	results := make([]turnResult, len(all))
	for round := range rounds {
		for i := range all {
			k := i
			if round%2 == 1 {
				k = len(all) - 1 - i
			}
			before, err := all[k].server.cpuTime()
			if err != nil {
				return nil, err
			}
			s, err := all[k].run(ctx)
			if err != nil {
				return nil, err
			}
			after, err := all[k].server.cpuTime()
			if err != nil {
				return nil, err
			}
			results[k].rates = append(results[k].rates, s.rate())
			results[k].cost = append(results[k].cost, float64((after-before).Microseconds())/s.Requests)
		}
	}
	return results, nil
}

// benchSingle measures row 1 of bench.table: single predictions against the echo server, and batches of 100 predictions.
func (b *bench) benchSingle(ctx context.Context) error {
	const batch = 100
	bodies := predictBodies(b.seed+1, predictedTask, 256, 1)
	predict := turn{load{url: b.server.url + "/predict", token: b.env.token, bodies: bodies, connections: 16, cpu: b.env.loadCPU, length: b.length}, b.server}
	echoed, batches, unseen := predict, predict, predict
	unseen.bodies = withUnseenFeature(bodies)
	echoed.url, echoed.server = b.echo.url+"/", b.echo
	batches.url, batches.bodies, batches.connections = b.server.url+"/predict/batch", predictBodies(b.seed+2, predictedTask, 8, batch), 4
	if err := b.checkModelAnswers(ctx, bodies[0]); err != nil {
		return err
	}
	if _, err := runTurns(ctx, 1, predict, echoed, batches, unseen); err != nil { // warm-up
		return err
	}
	all, err := runTurns(ctx, b.rounds, predict, echoed, batches, unseen)
	if err != nil {
		return err
	}
	for i := range all[2].rates {
		all[2].rates[i], all[2].cost[i] = all[2].rates[i]*batch, all[2].cost[i]/batch
	}
	b.printf("predict %.0f/s, echo %.0f/s, in batches of %d: %.0f tasks/s (%d rounds of %s, bodies of %d bytes)",
		median(all[0].rates), median(all[1].rates), batch, median(all[2].rates), b.rounds, b.length, len(bodies[0]))
	b.printf("processor time: predict %.1f µs, of features never seen %.1f µs, echo %.1f µs, a task of a batch %.1f µs",
		median(all[0].cost), median(all[3].cost), median(all[1].cost), median(all[2].cost))
	b.printf("predict/echo ratio: %s (goal 0.60)", ratioOf(all[0].rates, all[1].rates))
	b.printf("predict/echo ratio, features never seen: %s", ratioOf(all[3].rates, all[1].rates))
	b.printf("echo/predict ratio of processor time: %s; features never seen: %s", ratioOf(all[1].cost, all[0].cost), ratioOf(all[1].cost, all[3].cost))
	b.printf("batch/single ratio of tasks a second: %s (goal 5)", ratioOf(all[2].rates, all[0].rates))
	return nil
}

func (b *bench) checkModelAnswers(ctx context.Context, body string) error {
	var answer struct{ Source, Reason string }
	if err := b.env.call(ctx, b.server.url+"/predict", raw(body), &answer); err != nil {
		return err
	}
	if answer.Source != "model" {
		return fmt.Errorf("predict: the answer is from %q, not from a model: %s", answer.Source, answer.Reason)
	}
	return nil
}
