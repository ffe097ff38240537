package fitting

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

type zrow struct {
	task, run           string
	mi                  int
	at                  time.Time
	dur, peak, req, cpu float64
	f                   sizing.Features
}

func zread(path string) []zrow {
	f, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	z, _ := gzip.NewReader(f)
	all, _ := csv.NewReader(z).ReadAll()
	h := map[string]int{}
	for i, n := range all[0] {
		h[n] = i
	}
	var rows []zrow
	for _, r := range all[1:] {
		num := func(n string) float64 {
			i, ok := h[n]
			if !ok || r[i] == "" {
				return 0
			}
			v, _ := strconv.ParseFloat(r[i], 64)
			return v
		}
		at, _ := time.Parse(time.RFC3339, r[h["started_at"]])
		w := zrow{task: r[h["dag_id"]] + "/" + r[h["task_id"]], run: r[h["run_id"]], mi: -1, at: at, dur: num("duration_s"), peak: num("memory_max_bytes"), req: num("memory_requested_bytes"), cpu: num("cpu_max_cores"), f: sizing.Features{}}
		if i, ok := h["map_index"]; ok && r[i] != "" {
			w.mi, _ = strconv.Atoi(r[i])
		}
		for n, i := range h {
			if strings.HasPrefix(n, "feature.") && r[i] != "" {
				if v, err := strconv.ParseFloat(r[i], 64); err == nil {
					w.f[n[8:]] = sizing.NumberValue(v)
				} else {
					w.f[n[8:]] = sizing.TextValue(r[i])
				}
			}
		}
		if w.req == 0 {
			w.req = 4e9
		}
		rows = append(rows, w)
	}
	sort.SliceStable(rows, func(a, b int) bool { return rows[a].at.Before(rows[b].at) })
	return rows
}

type ztask struct {
	m           *Model
	h           sizing.History
	told        int
	trained     int
	used, waste float64
	n, k        int
	pool        Pool
}

func TestZReplay(t *testing.T) {
	for _, path := range strings.Split(os.Getenv("ZTRACE"), ",") {
		if path != "" {
			zreplay(path, os.Getenv("ZDRIFT") != "")
		}
	}
}

func zreplay(path string, drift bool) {
	rows := zread(path)
	capb := 128e9
	for i := range rows {
		if drift && i >= len(rows)/2 {
			rows[i].peak *= 1.8
		}
		capb = max(capb, rows[i].peak)
	}
	tasks := map[string]*ztask{}
	var pool Pool
	var used, waste, prom float64
	fails, kp, n := 0, 0, 0
	var tfit, tlearn, tsize time.Duration
	seq := int64(0)
	t0 := time.Now()
	if os.Getenv("ZLIMIT") != "" {
		l, _ := strconv.Atoi(os.Getenv("ZLIMIT"))
		rows = rows[:min(l, len(rows))]
	}
	blob := 0
	for _, r := range rows {
		k := tasks[r.task]
		if k == nil {
			k = &ztask{m: New()}
			tasks[r.task] = k
		}
		q := Question{Features: r.f, Requested: sizing.Resources{Memory: sizing.Bytes(r.req)}, Cap: sizing.Bytes(max(r.req, capb)), RiskTarget: 0.015}
		t1 := time.Now()
		s := k.m.Size(q)
		tsize += time.Since(t1)
		learn := func(o Told, hr sizing.HistoryRow) {
			seq++
			o.Seq, hr.Seq = seq, seq
			hr.RunID, hr.MapIndex = r.run, r.mi
			k.h.Schema.Admit(r.f)
			hr.Features = k.h.Schema.Row(r.f, nil)
			hr.Weight = 1
			hr.Allocated, hr.Outcome, hr.Duration, hr.Promised = o.Allocated, o.Outcome, o.Duration, o.Promised
			hr.CPUMax = o.CPUMax
			k.h.Rows = append(k.h.Rows, hr)
			k.h.LastSeq, k.h.Total = seq, len(k.h.Rows)
			t1 := time.Now()
			before := k.m.Pool()
			k.m.Learn(o)
			pool.Remove(&before)
			a := k.m.Pool()
			pool.Add(&a)
			k.m.Heed(&pool)
			tlearn += time.Since(t1)
		}
		grant := s.Limit
		if s.Promised != nil {
			k.m.Granted(*s.Promised)
			prom += *s.Promised
			n++
			if float64(grant) < r.peak {
				kp++
			}
		}
		w, tries, kills := 0.0, 1, 0
		dur := time.Duration(r.dur * float64(time.Second))
		for float64(grant) < r.peak && tries < 12 {
			w += float64(grant) * r.dur
			o := Told{Features: r.f, Outcome: sizing.OOMKilled, Peak: grant, Censoring: sizing.AtLeast, Duration: dur, Allocated: sizing.Resources{Memory: grant}, FirstTry: tries == 1}
			if tries == 1 {
				o.Promised = s.Promised
			}
			learn(o, sizing.HistoryRow{Try: tries})
			kills++
			q.Above = grant
			l := k.m.Size(q)
			st := sizing.LiftState{Failed: grant, Ceiling: q.Cap, Kills: kills, MaxLifts: 3, Ladder: l.Ladder}
			d := st.Decide(sizing.OOMKilled)
			if !d.Retry {
				panic(fmt.Sprint(d))
			}
			grant = d.Memory.Limit
			tries++
		}
		w += (float64(grant) - r.peak) * r.dur
		o := Told{Features: r.f, Outcome: sizing.Success, Peak: sizing.Bytes(r.peak), Censoring: sizing.Exact, Duration: dur, Allocated: sizing.Resources{Memory: grant}, FirstTry: tries == 1, CPUMax: sizing.Cores(r.cpu)}
		if tries == 1 {
			o.Promised = s.Promised
		}
		learn(o, sizing.HistoryRow{Try: tries, MemoryMax: sizing.Bytes(r.peak)})
		used += r.peak * r.dur
		waste += w
		k.used += r.peak * r.dur
		k.waste += w
		k.n++
		if os.Getenv("ZKILL") != "" && (kills > 1 || w > 20*3.6e12) {
			fmt.Printf("  KILL %s n %d kills %d first %.2fG last %.2fG peak %.2fG dur %.0f waste %.1f src %s\n", r.task, k.told, kills, float64(s.Limit)/1e9, float64(grant)/1e9, r.peak/1e9, r.dur, w/3.6e12, s.Reason)
		}
		if kills > 0 {
			fails++
			k.k++
		}
		k.told++
		if float64(k.told-k.trained) >= max(25, 0.02*float64(k.trained)) {
			k.trained = k.told
			t1 := time.Now()
			m, _, err := Fit(&k.h, k.m)
			if err != nil {
				panic(err)
			}
			if m != nil {
				k.m = m
				k.m.Heed(&pool)
			}
			tfit += time.Since(t1)
		}
		if k.told == 1450 {
			b, err := k.m.Blob()
			if err != nil {
				panic(err)
			}
			blob = len(b)
			m2, err := Open(b)
			if err != nil {
				panic(err)
			}
			b2, _ := m2.Blob()
			if string(b) != string(b2) {
				fmt.Println("BLOB DIFFERS")
			}
			k.m = m2
			k.m.Heed(&pool)
		}
	}
	worst := 0.0
	for name, k := range tasks {
		if os.Getenv("ZTASKS") != "" {
			fmt.Printf("   %-30s n %d used %.1f util %.1f killed %d\n", name, k.n, k.used/3.6e12, 100*k.used/(k.used+k.waste), k.k)
		}
		if k.used > .1*used && k.n >= 100 || len(tasks) == 1 {
			fmt.Printf("   %s util %.1f killed %.2f\n", name, 100*k.used/(k.used+k.waste), 100*float64(k.k)/float64(k.n))
			worst = max(worst, 100*float64(k.k)/float64(k.n))
		}
	}
	parts := strings.Split(path, "/")
	fmt.Printf("%-16s util %.2f killed %.2f%% worst %.2f promised %.1f killed %d of %d  fit %.1fs learn %.1fs size %.1fs total %.1fs blob %d\n", parts[len(parts)-1], 100*used/(used+waste), 100*float64(fails)/float64(len(rows)), worst, prom, kp, n, tfit.Seconds(), tlearn.Seconds(), tsize.Seconds(), time.Since(t0).Seconds(), blob)
}
