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

// profiled takes profiles of the server under a load: of its time, and, with .allocs
// behind the name, of what it allocated since it started:
//
//	go tool pprof -top bin/loadaware FILE
func (b *bench) profiled(ctx context.Context) error {
	const span = 8 * time.Second
	ended := make(chan error, 1)
	if b.under == "batches" {
		b.span = span + 2*time.Second
		go func() {
			rate, err := b.batches(ctx, 0)
			b.say("%.0f rows/s", rate)
			ended <- err
		}()
	} else {
		put := load{url: b.server.url + "/predict", token: b.place.token, bodies: asks(b.seed+1, name, 256, 1), connections: 16, cpu: b.place.back, span: span + 2*time.Second}
		switch b.under {
		case "new":
			put.bodies = neverSeen(put.bodies)
		case "many":
			put.url, put.bodies, put.connections = put.url+"/batch", asks(b.seed+2, name, 8, 100), 4
		case "reports":
			if err := b.place.teach(ctx, b.server, b.seed+5, "ingest", 60); err != nil {
				return err
			}
			put.url, put.bodies, put.connections = b.server.url+"/observe", reports(b.seed+6, 256), 64
		}
		go func() {
			s, err := put.run(ctx)
			b.say("%.0f requests/s", s.rate())
			ended <- err
		}()
	}
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
