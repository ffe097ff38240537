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

// runProfile writes two profiles of the server under a load: the CPU time and, in a second file
// with the suffix .allocs, the allocations since the start of the server. To read a profile:
//
//	go tool pprof -top bin/loadaware FILE
func (b *bench) runProfile(ctx context.Context) error {
	const length = 8 * time.Second // of the CPU profile; the load begins 1 s earlier and ends 1 s later
	ended := make(chan error, 1)
	if b.profiledLoad == "batches" {
		b.length = length + 2*time.Second
		go func() {
			rate, err := b.postBatches(ctx, 0)
			b.printf("%.0f rows/s", rate)
			ended <- err
		}()
	} else {
		generated := load{url: b.server.url + "/predict", token: b.env.token, bodies: predictBodies(b.seed+1, predictedTask, 256, 1), connections: 16, cpu: b.env.loadCPU, length: length + 2*time.Second}
		switch b.profiledLoad {
		case "new":
			generated.bodies = withUnseenFeature(generated.bodies)
		case "many":
			generated.url, generated.bodies, generated.connections = generated.url+"/batch", predictBodies(b.seed+2, predictedTask, 8, 100), 4
		case "reports":
			if err := b.env.addTask(ctx, b.server, b.seed+5, "ingest", 60); err != nil {
				return err
			}
			generated.url, generated.bodies, generated.connections = b.server.url+"/observe", observeBodies(b.seed+6, 256), 64
		}
		go func() {
			s, err := generated.run(ctx)
			b.printf("%.0f requests/s", s.rate())
			ended <- err
		}()
	}
	time.Sleep(time.Second)
	cpu := b.fetch(ctx, fmt.Sprintf("profile?seconds=%.0f", length.Seconds()), b.profile)
	return errors.Join(cpu, b.fetch(ctx, "allocs", b.profile+".allocs"), <-ended)
}

func (b *bench) fetch(ctx context.Context, profile, file string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.admin+"/debug/pprof/"+profile, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.env.token)
	got, err := b.env.client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("read the pprof profile %s: status %s", profile, got.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, got.Body)
	return errors.Join(err, out.Close())
}
