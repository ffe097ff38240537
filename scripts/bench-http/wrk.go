package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// load is a closed loop of wrk: each connection sends its next request when it has the answer to the previous one.
type load struct {
	url, token  string
	bodies      []string // sent in turn; a unique number replaces counterPlaceholder
	connections int
	cpu         string // core on which wrk runs; any core if empty
	length      time.Duration
}

// counterPlaceholder is replaced in bodies by a unique text, so that each request is about a new try.
const counterPlaceholder = "#########"

// loadResult contains the figures of a load. Latencies are in milliseconds.
type loadResult struct {
	Requests, Errors, Timeouts float64
	Seconds                    float64
	P50, P99, P999, Max        float64
}

func (s loadResult) rate() float64 { return s.Requests / s.Seconds }

// script is the Lua script of wrk. luaTable has split the bodies at the placeholders, so that script builds a request with
// one concatenation.
const script = `
local bodies = dofile(os.getenv("BENCH_BODIES"))
local start, count, at = tonumber(os.getenv("BENCH_START")), 0, 0
local threads = 0
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init() start = start + (id or 0) * 20000000 end
local head
function request()
  if not head then
    head = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\nContent-Type: application/json\r\nAuthorization: Bearer " .. os.getenv("BENCH_TOKEN") .. "\r\nContent-Length: "
    for _, b in ipairs(bodies) do
      local size = 0
      for _, part in ipairs(b) do size = size + #part end
      size = size + 9 * (#b - 1)
      b[1] = head .. size .. "\r\n\r\n" .. b[1]
    end
  end
  at = at % #bodies + 1
  local b = bodies[at]
  if #b == 1 then return b[1] end
  if #b == 2 then
    count = count + 1
    return b[1] .. string.format("%09d", start + count) .. b[2]
  end
  local parts = {b[1]}
  for i = 2, #b do
    count = count + 1
    parts[#parts + 1] = string.format("%09d", start + count)
    parts[#parts + 1] = b[i]
  end
  return table.concat(parts)
end
function done(summary, latency, requests)
  local e = summary.errors
  io.stderr:write(string.format('{"Requests":%d,"Seconds":%f,"Errors":%d,"Timeouts":%d,"P50":%f,"P99":%f,"P999":%f,"Max":%f}\n',
    summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status, e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000, latency.max / 1000))
end
`

// loadCount numbers the loads of a run, so that no two of 90 successive loads send the same try.
var loadCount int

// run runs the load. It returns an error if wrk counts a broken connection, a timeout or a status from 400 on.
func (l load) run(ctx context.Context) (loadResult, error) {
	dir, err := os.MkdirTemp("", "bench-http-")
	if err != nil {
		return loadResult{}, err
	}
	defer os.RemoveAll(dir)
	lua, bodies := filepath.Join(dir, "load.lua"), filepath.Join(dir, "bodies.lua")
	if err := errors.Join(os.WriteFile(lua, []byte(script), 0o600), os.WriteFile(bodies, []byte(luaTable(l.bodies)), 0o600)); err != nil {
		return loadResult{}, err
	}
	s, err := l.wrk(ctx, lua, bodies, l.length)
	if err == nil && s.Errors+s.Timeouts > 0 {
		err = fmt.Errorf("%s: %.0f of %.0f requests were not answered with 2xx, %.0f timed out", l.url, s.Errors, s.Requests, s.Timeouts)
	}
	return s, err
}

// wrk runs the program wrk, and returns the figures that the script prints.
func (l load) wrk(ctx context.Context, lua, bodies string, length time.Duration) (loadResult, error) {
	var s loadResult
	loadCount++
	args := []string{"wrk", "-t", "1", "-c", fmt.Sprint(l.connections), "-d", fmt.Sprintf("%ds", max(1, int(length.Seconds()))), "--timeout", "10s", "-s", lua, l.url}
	cmd := pinned(ctx, l.cpu, args...)
	cmd.Env = append(os.Environ(), "BENCH_BODIES="+bodies, "BENCH_TOKEN="+l.token, fmt.Sprintf("BENCH_START=%d", loadCount%90*10_000_000))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil {
		return s, fmt.Errorf("wrk: %w: %s%s", err, out, stderr.String())
	}
	if err := json.Unmarshal(stderr.Bytes(), &s); err != nil {
		return s, fmt.Errorf("wrk: unexpected output %q: %w", stderr.String(), err)
	}
	return s, nil
}

func luaTable(bodies []string) string {
	var b strings.Builder
	b.WriteString("return {\n")
	for _, body := range bodies {
		b.WriteString("{")
		for part := range strings.SplitSeq(body, counterPlaceholder) {
			fmt.Fprintf(&b, "[==[%s]==],", part)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// pinned returns a command that runs on the core `cpu`, or on any core if `cpu` is empty or taskset is missing.
func pinned(ctx context.Context, cpu string, args ...string) *exec.Cmd {
	if taskset, err := exec.LookPath("taskset"); cpu != "" && err == nil {
		args = append([]string{taskset, "-c", cpu}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = 15 * time.Second
	return cmd
}
