package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// crowd is callers in a closed loop without pause, on connections of their own. Each asks
// three times, then reports: were they split into askers and reporters, a larger crowd
// would report more for each question, and do other, dearer work than a smaller one.
// A refusal is heeded: the caller comes again after Retry-After.
type crowd struct {
	addr   string
	tasks  []testcluster.Task
	asks   [][]byte // made before the clock runs: the generator must not be what is measured
	seed   uint64
	ledger *testcluster.Ledger
	server *testcluster.Replica
}

func newCrowd(cluster *testcluster.Cluster, tasks []testcluster.Task, seed uint64) *crowd {
	c := &crowd{addr: strings.TrimPrefix(cluster.Replicas[0].URL, "http://"), tasks: tasks, seed: seed, ledger: cluster.Ledger, server: cluster.Replicas[0]}
	random := rand.New(rand.NewPCG(seed, 9))
	for i := range 256 {
		c.asks = append(c.asks, testcluster.PredictBody(random, tasks[random.IntN(len(tasks))], fmt.Sprintf("ask-%d", i)))
	}
	return c
}

// gathering is what a crowd of some size got in some time.
type gathering struct {
	connections int
	took        time.Duration
	cpu         time.Duration // of the server
	asks, tells share
	rude        int // refusals without Retry-After
	failed      int // anything that is neither 200 nor a refusal
	first       string
	buckets     []int // answers by 200, by tenth of a second
}

// share is what became of the asks, or of the reports.
type share struct {
	good, refused         int
	goodTook, refusedTook []time.Duration
}

func (s *share) add(o *share) {
	s.good += o.good
	s.refused += o.refused
	s.goodTook = append(s.goodTook, o.goodTook...)
	s.refusedTook = append(s.refusedTook, o.refusedTook...)
}

// goodput is answers by 200 a second.
func (g *gathering) goodput() float64 {
	return float64(g.asks.good+g.tells.good) / g.took.Seconds()
}

// perCPU is answers by 200 for each second of the server's CPU: what a machine that
// others use, too, cannot take away.
func (g *gathering) perCPU() float64 {
	return float64(g.asks.good+g.tells.good) / max(0.01, g.cpu.Seconds())
}

// cpuOf is what a process has used, user and system, in the kernel's hundredths.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(text), ") ") // of the name
	fields := strings.Fields(behind)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11]) // proc(5) says that these are numbers
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (g *gathering) asked() float64 { return float64(g.asks.good) / g.took.Seconds() }

// refusedShare is the part of the calls that was refused.
func (s *share) refusedShare() float64 {
	return float64(s.refused) / float64(max(1, s.refused+s.good))
}

func (g *gathering) String() string {
	return fmt.Sprintf("%4d connections: %6.0f/s (asks %.0f/s p50 %v p99 %v; reports %.0f/s p99 %v), refused: asks %.1f %%, reports %.1f %%, told p50 %v p99 %v; failed %d, rude %d",
		g.connections, g.goodput(), g.asked(), quantile(g.asks.goodTook, 0.5), quantile(g.asks.goodTook, 0.99),
		float64(g.tells.good)/g.took.Seconds(), quantile(g.tells.goodTook, 0.99),
		100*g.asks.refusedShare(), 100*g.tells.refusedShare(), quantile(g.refusals(), 0.5), quantile(g.refusals(), 0.99), g.failed, g.rude)
}

func (g *gathering) refusals() []time.Duration {
	return append(append([]time.Duration(nil), g.asks.refusedTook...), g.tells.refusedTook...)
}

// gather connects n callers, and then lets them go for a while. label tells the runs
// of one gathering from those of another.
func (c *crowd) gather(ctx context.Context, label string, n int, length time.Duration) *gathering {
	g := &gathering{connections: n, took: length, buckets: make([]int, length/bucket+1)}
	var mu sync.Mutex
	var connected, callers sync.WaitGroup
	var begun time.Time
	start := make(chan struct{})
	for i := range n {
		connected.Add(1)
		callers.Go(func() {
			conn := &wireConn{addr: c.addr}
			defer conn.close()
			err := conn.dial(observeWithin)
			connected.Done()
			<-start
			one := &gathering{buckets: make([]int, len(g.buckets))}
			if err != nil {
				one.fail("connect: %v", err)
			}
			c.call(ctx, conn, one, fmt.Sprintf("%s-%04d", label, i), i, begun, length)
			mu.Lock()
			defer mu.Unlock()
			g.add(one)
		})
	}
	connected.Wait()
	g.cpu = -cpuOf(c.server.PID())
	begun = time.Now()
	close(start)
	callers.Wait()
	g.cpu += cpuOf(c.server.PID())
	return g
}

// bucket is the resolution of when answers came.
const bucket = 100 * time.Millisecond

func (g *gathering) add(one *gathering) {
	g.asks.add(&one.asks)
	g.tells.add(&one.tells)
	g.rude += one.rude
	g.failed += one.failed
	if g.first == "" {
		g.first = one.first
	}
	for i, k := range one.buckets {
		g.buckets[i] += k
	}
}

// call is one caller; every fourth of its calls reports.
func (c *crowd) call(ctx context.Context, conn *wireConn, g *gathering, label string, number int, begun time.Time, length time.Duration) {
	random := rand.New(rand.NewPCG(c.seed, uint64(number)))
	for n := 0; time.Since(begun) < length && ctx.Err() == nil; n++ {
		tells := (number+n)%4 == 3
		path, mine := "/predict", &g.asks
		if tells {
			path, mine = "/observe", &g.tells
		}
		body := c.asks[(number+n)%len(c.asks)]
		var o testcluster.Observation
		if tells {
			o = testcluster.DrawRun(random, c.tasks[random.IntN(len(c.tasks))], fmt.Sprintf("%s-%06d", label, n))
			body, _ = json.Marshal(o) // numbers and strings only
			c.ledger.RecordSent(o)
		}
		sent := time.Now()
		a, err := conn.post(path, body, observeWithin)
		took := time.Since(sent)
		switch {
		case err != nil:
			g.fail("%s: %v", path, err)
		case a.status == http.StatusOK:
			mine.good++
			mine.goodTook = append(mine.goodTook, took)
			if at := int(time.Since(begun) / bucket); at < len(g.buckets) {
				g.buckets[at]++
			}
			if tells {
				c.ledger.RecordAcked(o)
			}
		case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
			mine.refused++
			mine.refusedTook = append(mine.refusedTook, took)
			if !a.polite {
				g.rude++
			}
			// Those who were refused together should not come again together.
			wait := a.retryAfter + time.Duration(random.Int64N(int64(200*time.Millisecond)))
			time.Sleep(min(wait, length-time.Since(begun)))
		default:
			g.fail("%s: status %d", path, a.status)
		}
	}
}

func (g *gathering) fail(format string, args ...any) {
	g.failed++
	if g.first == "" {
		g.first = fmt.Sprintf(format, args...)
	}
	time.Sleep(10 * time.Millisecond)
}

// recovered is how long it took until half a second in a row was at least enough a second.
func (g *gathering) recovered(enough float64) time.Duration {
	const half = 5 // buckets
	for i := 0; i+half <= len(g.buckets); i++ {
		sum := 0
		for _, k := range g.buckets[i : i+half] {
			sum += k
		}
		if float64(sum)*2 >= enough {
			return time.Duration(i+half) * bucket
		}
	}
	return g.took + bucket
}

// storming is a number of connections far beyond the places that there are.
const storming = 600

// overload finds the peak by a ramp, and then holds three times its connections, and
// a storm, each in turn with the peak: what else the machine does meets both.
func overload(ctx context.Context, s *sheet) error {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		return fmt.Errorf("%w: the generator and the server need a core each, and taskset", errSkip)
	}
	cluster, tasks, err := s.open(ctx, testcluster.Config{Wrap: pinned("0"), Postgres: testcluster.PostgresConfig{Wrap: pinned("1")}})
	if err != nil {
		return err
	}
	defer cluster.Close()
	if err := pinMyself(ctx, "1"); err != nil {
		return err
	}
	defer func() { _ = pinMyself(context.WithoutCancel(ctx), fmt.Sprintf("0-%d", runtime.NumCPU()-1)) }()
	c := newCrowd(cluster, tasks, s.seed)
	peak := c.ramp(ctx, s)

	three := c.contrast(ctx, s, "three", peak, 3*peak, s.reps(2, 20), s.reps(3, 6))
	three.judge(s, "three times the peak's connections")
	storm := c.contrast(ctx, s, "storm", peak, storming, s.reps(2, 6), s.reps(3, 6))
	storm.judge(s, "storm")
	s.hold(storm.refused() > 0, "storm: nobody was refused: there was no storm")
	s.hold(storm.asksRefused() < storm.tellsRefused(), "storm: asks were refused more often than reports")
	s.balance(ctx, "overload", cluster)
	return nil
}

// ramp finds the fewest connections that get the most answers: 3 % more must be worth
// twice as many.
func (c *crowd) ramp(ctx context.Context, s *sheet) (peak int) {
	c.gather(ctx, "warm", 8, time.Second)
	sizes := []int{4, 8, 16, 32, 64, 128}
	goodput := make([][]float64, len(sizes))
	for round := range s.reps(1, 4) {
		for i, n := range sizes {
			g := c.gather(ctx, fmt.Sprintf("ramp%d.%d", round, n), n, 1500*time.Millisecond)
			goodput[i] = append(goodput[i], g.goodput())
		}
	}
	most := 0.0
	for i, n := range sizes {
		middle := median(goodput[i])
		s.tell("ramp: %3d connections: %.0f/s", n, middle)
		if middle > 1.03*most {
			peak, most = n, middle
		}
	}
	return peak
}

// contrast is a crowd of the right size and one that is too large, in turn.
type contrast struct {
	right, beyond []*gathering
}

// more is how many rounds the short form adds where its two, a few seconds on a machine that
// others use, fell short. All are played, and the middle one of all is judged: to stop at
// the first that is good enough would let a bad build through.
const more = 4

func (c *crowd) contrast(ctx context.Context, s *sheet, label string, right, beyond, rounds, seconds int) *contrast {
	k, length := &contrast{}, time.Duration(seconds)*time.Second
	k.right = append(k.right, c.gather(ctx, label+"-first", right, length))
	first := rounds
	for round := 0; round < rounds; round++ {
		k.beyond = append(k.beyond, c.gather(ctx, fmt.Sprintf("%s-beyond%d", label, round), beyond, length))
		k.right = append(k.right, c.gather(ctx, fmt.Sprintf("%s-right%d", label, round), right, length))
		if round == first-1 && !s.long && !k.enough(s) {
			rounds += more
		}
	}
	return k
}

func (k *contrast) all(of func(*gathering) float64) (right, beyond []float64) {
	for _, g := range k.right {
		right = append(right, of(g))
	}
	for _, g := range k.beyond {
		beyond = append(beyond, of(g))
	}
	return right, beyond
}

// ratio is the middle one of how a crowd that is too large did against those of the
// right size before and behind it.
func (k *contrast) ratio(of func(*gathering) float64) (middle, low, high float64) {
	right, beyond := k.all(of)
	var ratios []float64
	for i, b := range beyond {
		ratios = append(ratios, 2*b/(right[i]+right[i+1]))
	}
	return median(ratios), slices.Min(ratios), slices.Max(ratios)
}

func (k *contrast) sum() *gathering {
	total := &gathering{}
	for _, g := range k.beyond {
		total.took += g.took
		total.connections = g.connections
		total.buckets = make([]int, len(g.buckets))
		total.add(g)
	}
	return total
}

func (k *contrast) refused() int {
	total := k.sum()
	return total.asks.refused + total.tells.refused
}
func (k *contrast) asksRefused() float64  { return k.sum().asks.refusedShare() }
func (k *contrast) tellsRefused() float64 { return k.sum().tells.refusedShare() }

// left is what of the peak must be.
func (s *sheet) left() float64 {
	if s.long {
		return 0.8
	}
	return 0.6
}

func (k *contrast) enough(s *sheet) bool {
	good, _, _ := k.ratio((*gathering).goodput)
	asked, _, _ := k.ratio((*gathering).asked)
	return min(good, asked) >= s.left()
}

func (k *contrast) judge(s *sheet, what string) {
	right, _ := k.all((*gathering).goodput)
	total := k.sum()
	s.tell("%s: beside %.0f/s at the peak (%d connections): %v", what, median(right), k.right[0].connections, total)
	good, low, high := k.ratio((*gathering).goodput)
	asked, askedLow, askedHigh := k.ratio((*gathering).asked)
	work, workLow, workHigh := k.ratio((*gathering).perCPU)
	var slowest time.Duration
	failed := total.failed
	for _, g := range k.right[1:] {
		slowest = max(slowest, g.recovered(0.8*median(right)))
		failed += g.failed
	}
	s.tell("%s: goodput %.2f [%.2f .. %.2f] of the peak, asks answered %.2f [%.2f .. %.2f], %d rounds; back at 80 %% of the peak within %v at worst",
		what, good, low, high, asked, askedLow, askedHigh, len(k.beyond), slowest)
	s.tell("%s: answers for each second of the server's CPU %.2f [%.2f .. %.2f] of those at the peak", what, work, workLow, workHigh)
	// A few seconds on a machine that others use say less: the short form is lenient, and
	// does not hold it to the time of a refusal, in which the generator has waited, too.
	soon := time.Hour
	if s.long {
		soon = 50 * time.Millisecond
	}
	s.hold(good >= s.left(), "%s: goodput is %.2f of the peak", what, good)
	s.hold(asked >= s.left(), "%s: asks answered are %.2f of those at the peak", what, asked)
	s.hold(failed == 0, "%s: %d calls failed: %s", what, failed, total.first)
	s.hold(total.rude == 0, "%s: %d refusals without Retry-After", what, total.rude)
	s.hold(quantile(total.refusals(), 0.99) < soon, "%s: refusals took %v (p99)", what, quantile(total.refusals(), 0.99))
	s.hold(slowest <= 5*time.Second, "%s: not recovered within 5 s", what)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// pinned is the head of a command that is kept on some cores.
func pinned(cores string) []string { return []string{"taskset", "-c", cores} }

// pinMyself keeps every thread of this process on some cores.
func pinMyself(ctx context.Context, cores string) error {
	return command(ctx, "taskset", "-acp", cores, strconv.Itoa(os.Getpid()))
}
