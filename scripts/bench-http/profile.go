package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// profiled takes profiles of the server while it is asked single questions: of its
// time, and, with .allocs behind the name, of what it allocated since it started:
//
//	go tool pprof -top bin/loadaware FILE
func (b *bench) profiled(ctx context.Context) error {
	const span = 8 * time.Second
	ask := load{url: b.server.url + "/predict", token: b.place.token, bodies: asks(b.seed+1, name, 256, 1), connections: 16, cpu: b.place.back, span: span + 2*time.Second}
	ended := make(chan error, 1)
	go func() {
		s, err := ask.run(ctx)
		b.say("predict %.0f/s", s.rate())
		ended <- err
	}()
	time.Sleep(time.Second)
	cpu := b.fetch(ctx, "profile?seconds=8", b.profile)
	return errors.Join(cpu, b.fetch(ctx, "allocs", b.profile+".allocs"), <-ended)
}

// fetch writes what the server's pprof says to a file.
func (b *bench) fetch(ctx context.Context, what, into string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.admin+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.place.token)
	got, err := b.place.client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("pprof: %s", got.Status)
	}
	file, err := os.Create(into)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, got.Body)
	return errors.Join(err, file.Close())
}
