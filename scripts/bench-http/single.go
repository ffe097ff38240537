package main

import (
	"context"
	"fmt"
	"regexp"
)

// asks are the bodies of a load: single questions, or batches of them.
func asks(seed uint64, task string, bodies, batch int) []string {
	r := dice(seed)
	all := make([]string, bodies)
	for i := range all {
		if batch == 1 {
			all[i] = text(question(r, task, "scheduled__"+counterMark))
			continue
		}
		tasks := make([]object, batch)
		for j := range tasks {
			tasks[j] = question(r, task, "scheduled__"+counterMark)
		}
		all[i] = text(object{"tasks": tasks})
	}
	return all
}

var oneFeature = regexp.MustCompile(`"elasticity":[-+.eE0-9]+`)

// neverSeen are the same bodies with a feature that no other request has, so that no
// answer can have been kept.
func neverSeen(bodies []string) []string {
	all := make([]string, len(bodies))
	for i, body := range bodies {
		all[i] = oneFeature.ReplaceAllString(body, `"elasticity":0.`+counterMark)
	}
	return all
}

// turn is a load, and who serves it.
type turn struct {
	load
	by *server
}

// did is what came of the rounds of a turn.
type did struct {
	rates []float64 // requests a second
	cost  []float64 // microseconds of the server's processor time for one
}

// turns puts loads on in turn, round after round and in changing order.
func turns(ctx context.Context, rounds int, all ...turn) ([]did, error) {
	results := make([]did, len(all))
	for round := range rounds {
		for i := range all {
			k := i
			if round%2 == 1 {
				k = len(all) - 1 - i
			}
			before, err := all[k].by.spent()
			if err != nil {
				return nil, err
			}
			s, err := all[k].run(ctx)
			if err != nil {
				return nil, err
			}
			after, err := all[k].by.spent()
			if err != nil {
				return nil, err
			}
			results[k].rates = append(results[k].rates, s.rate())
			results[k].cost = append(results[k].cost, float64((after-before).Microseconds())/s.Requests)
		}
	}
	return results, nil
}

// single is row 1: single questions against the echo, and batches of a hundred.
func (b *bench) single(ctx context.Context) error {
	const batch = 100
	bodies := asks(b.seed+1, name, 256, 1)
	ask := turn{load{url: b.server.url + "/predict", token: b.place.token, bodies: bodies, connections: 16, cpu: b.place.back, span: b.span}, b.server}
	back, many, fresh := ask, ask, ask
	fresh.bodies = neverSeen(bodies)
	back.url, back.by = b.echo.url+"/", b.echo
	many.url, many.bodies, many.connections = b.server.url+"/predict/batch", asks(b.seed+2, name, 8, batch), 4
	if err := b.trained(ctx, bodies[0]); err != nil {
		return err
	}
	if _, err := turns(ctx, 1, ask, back, many, fresh); err != nil { // to warm up
		return err
	}
	all, err := turns(ctx, b.rounds, ask, back, many, fresh)
	if err != nil {
		return err
	}
	for i := range all[2].rates {
		all[2].rates[i], all[2].cost[i] = all[2].rates[i]*batch, all[2].cost[i]/batch
	}
	b.say("predict %.0f/s, echo %.0f/s, in batches of %d %.0f tasks/s (%d rounds of %s, bodies of %d bytes)",
		median(all[0].rates), median(all[1].rates), batch, median(all[2].rates), b.rounds, b.span, len(bodies[0]))
	b.say("processor time: predict %.1f µs, of features never seen %.1f µs, echo %.1f µs, a task of a batch %.1f µs",
		median(all[0].cost), median(all[3].cost), median(all[1].cost), median(all[2].cost))
	b.say("predict/echo ratio: %s (goal 0.60)", ratioOf(all[0].rates, all[1].rates))
	b.say("predict/echo ratio, features never seen: %s", ratioOf(all[3].rates, all[1].rates))
	b.say("echo/predict ratio of processor time: %s; features never seen: %s", ratioOf(all[1].cost, all[0].cost), ratioOf(all[1].cost, all[3].cost))
	b.say("batch/single ratio of tasks a second: %s (goal 5)", ratioOf(all[2].rates, all[0].rates))
	return nil
}

// trained makes sure that what is measured is an answer of a model.
func (b *bench) trained(ctx context.Context, body string) error {
	var answer struct{ Source, Reason string }
	if err := b.place.call(ctx, b.server.url+"/predict", raw(body), &answer); err != nil {
		return err
	}
	if answer.Source != "model" {
		return fmt.Errorf("the answer is from %q, not from a model: %s", answer.Source, answer.Reason)
	}
	return nil
}
