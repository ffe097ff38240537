package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// The namespace of PostgreSQL and the two ends of the wire to it. The addresses are of
// the range for benchmarks (RFC 2544), which no network in use has.
const (
	space    = "loadaware-chaos"
	nearEnd  = "laChaosNear"
	farEnd   = "laChaosFar"
	nearAddr = "198.18.77.1/30"
	farAddr  = "198.18.77.2"
)

// partition cuts the wire between a replica and PostgreSQL at the far end: packets vanish, and no
// connection is told.
func partition(ctx context.Context, s *sheet) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root may make network namespaces", errSkip)
	}
	unwire, err := wire()
	if err != nil {
		return fmt.Errorf("%w: no network namespace can be made here: %w", errSkip, err)
	}
	defer unwire()
	cluster, tasks, err := s.open(ctx, testcluster.Config{Postgres: testcluster.PostgresConfig{
		Listen: farAddr, Wrap: []string{"ip", "netns", "exec", space},
	}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load, asker := s.traffic(cluster, tasks, "cut"), s.asker(cluster, tasks)
	load.start(ctx, 8)
	var slowest time.Duration
	cuts := []time.Duration{time.Second, 13 * time.Second}
	if s.long {
		cuts = []time.Duration{time.Second, 3 * time.Second, 13 * time.Second, time.Second, 30 * time.Second, 5 * time.Second}
	}
	for _, length := range cuts {
		time.Sleep(500 * time.Millisecond)
		if err := ip("-n", space, "link", "set", farEnd, "down"); err != nil {
			return err
		}
		noticed := false
		for until := time.Now().Add(length); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			asker.ask(ctx)
			noticed = noticed || readiness(ctx, cluster.Replicas[0]).Observe == "unavailable"
		}
		if err := ip("-n", space, "link", "set", farEnd, "up"); err != nil {
			return err
		}
		took, err := whole(ctx, cluster, asker)
		if err != nil {
			return err
		}
		s.tell("cut for %v: healed within %v", length, took.Round(time.Millisecond))
		s.hold(took <= 5*time.Second, "a cut of %v healed only after %v", length, took)
		s.hold(noticed || length < 3*time.Second, "/readyz never said that reports cannot be stored")
		slowest = max(slowest, took)
	}
	seen := load.stop()
	asker.judge(s, "during the cuts")
	s.settle(ctx, "partition", seen, cluster)
	return nil
}

// wire makes the namespace and the wire into it. What is there of an earlier run is
// removed.
func wire() (unwire func(), err error) {
	unwire = func() {
		_ = ip("link", "del", nearEnd) // it may never have been made
		_ = ip("netns", "del", space)
	}
	unwire()
	for _, step := range [][]string{
		{"netns", "add", space},
		{"link", "add", nearEnd, "type", "veth", "peer", "name", farEnd, "netns", space},
		{"addr", "add", nearAddr, "dev", nearEnd},
		{"link", "set", nearEnd, "up"},
		{"-n", space, "addr", "add", farAddr + "/30", "dev", farEnd},
		{"-n", space, "link", "set", farEnd, "up"},
		{"-n", space, "link", "set", "lo", "up"},
	} {
		if err := ip(step...); err != nil {
			unwire()
			return nil, err
		}
	}
	return unwire, nil
}

func ip(args ...string) error {
	says, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("ip %v: %s", args, says), err)
	}
	return nil
}
