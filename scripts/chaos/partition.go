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

// The network namespace of PostgreSQL and the veth pair to it. The addresses are in the range
// that RFC 2544 reserves for benchmarks.
const (
	netns    = "loadaware-chaos"
	nearEnd  = "laChaosNear"
	farEnd   = "laChaosFar"
	nearAddr = "198.18.77.1/30"
	farAddr  = "198.18.77.2"
)

// trialPartition takes the link to PostgreSQL down at the far end: packets are lost, and no connection is reset.
func trialPartition(ctx context.Context, tr *trialRun) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: network namespaces need root", errSkip)
	}
	remove, err := createLink()
	if err != nil {
		return fmt.Errorf("%w: this machine allows no network namespace: %w", errSkip, err)
	}
	defer remove()
	cluster, tasks, err := tr.openCluster(ctx, testcluster.Config{Postgres: testcluster.PostgresConfig{
		Listen: farAddr, Wrap: []string{"ip", "netns", "exec", netns},
	}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	load, prober := tr.newTraffic(cluster, tasks, "cut"), tr.newProber(cluster, tasks)
	load.start(ctx, 8)
	cuts := []time.Duration{time.Second, 13 * time.Second}
	if tr.long {
		cuts = []time.Duration{time.Second, 3 * time.Second, 13 * time.Second, time.Second, 30 * time.Second, 5 * time.Second}
	}
	for _, length := range cuts {
		time.Sleep(500 * time.Millisecond)
		if err := ip("-n", netns, "link", "set", farEnd, "down"); err != nil {
			return err
		}
		noticed := false
		for until := time.Now().Add(length); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			prober.probe(ctx)
			noticed = noticed || readiness(ctx, cluster.Replicas[0]).Observe == "unavailable"
		}
		if err := ip("-n", netns, "link", "set", farEnd, "up"); err != nil {
			return err
		}
		took, err := waitRecovered(ctx, cluster, prober)
		if err != nil {
			return err
		}
		tr.printf("cut for %v: recovered within %v", length, took.Round(time.Millisecond))
		tr.check(took <= 5*time.Second, "after a cut of %v the service recovered only after %v", length, took)
		tr.check(noticed || length < 3*time.Second, "/readyz never reported that reports cannot be stored")
	}
	counts := load.stop()
	prober.check(tr, "during the cuts")
	tr.checkTraffic(ctx, "partition", counts, cluster)
	return nil
}

// createLink creates the network namespace and the veth pair, and returns the function that removes them. It first removes
// what an interrupted run has left.
func createLink() (remove func(), err error) {
	remove = func() {
		_ = ip("link", "del", nearEnd) // fails if it does not exist
		_ = ip("netns", "del", netns)
	}
	remove()
	for _, step := range [][]string{
		{"netns", "add", netns},
		{"link", "add", nearEnd, "type", "veth", "peer", "name", farEnd, "netns", netns},
		{"addr", "add", nearAddr, "dev", nearEnd},
		{"link", "set", nearEnd, "up"},
		{"-n", netns, "addr", "add", farAddr + "/30", "dev", farEnd},
		{"-n", netns, "link", "set", farEnd, "up"},
		{"-n", netns, "link", "set", "lo", "up"},
	} {
		if err := ip(step...); err != nil {
			remove()
			return nil, err
		}
	}
	return remove, nil
}

func ip(args ...string) error {
	output, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("ip %v: %s", args, output), err)
	}
	return nil
}
