"""Measure the pages of the dashboard with a large history: the first and a later visit of each page, and its size.

    make build && python3 scripts/dashboard/speed.py [TASKS] [RUNS]    1000 tasks with 1000 runs each by default

The server and its private PostgreSQL keep their data in a temporary folder. The script fills the store, restarts the server,
visits the overview at once, waits until the server has read the lists of all tasks and the sums by day, and visits the pages. Then it
compares the latency of predictions with and without a visitor who opens pages. It exits with 1 if a page is larger than 200 kB.
"""

import csv
import datetime
import gzip
import http.client
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from urllib.parse import urlencode

PROGRAM = pathlib.Path(__file__).parents[2] / "bin/loadaware"
START = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
GIB = 2**30
PREDICTED = 10  # additional runs of each of the first 100 tasks, which are predicted before they are reported
MAX_BYTES = 200_000
SAMPLE = 40  # about the number of tasks whose pages are visited


def peak_of(task: int, run: int, noise: random.Random) -> int:
    """Return the peak of a run in bytes."""
    return int(GIB * (1 + task % 17) * (0.2 + run % 10 / 12) * noise.uniform(0.9, 1.1))


def write_history(path: pathlib.Path, tasks: int, runs: int) -> None:
    """Write runs of many tasks over a year, in the order of their starts."""
    noise = random.Random(1)
    names = ["dag_id", "task_id", "run_id", "started_at", "duration_s", "memory_requested_bytes", "memory_allocated_bytes", "memory_max_bytes"]
    with gzip.open(path, "wt", compresslevel=1) as file:
        out = csv.writer(file)
        out.writerow([*names, "outcome", "feature.rows", "feature.region", "metadata.owner"])
        for run in range(runs):
            at = (START + datetime.timedelta(days=365 * run / runs)).isoformat()
            for task in range(tasks):
                peak, request = peak_of(task, run, noise), GIB * (24 + task % 5)
                granted = int(peak * noise.uniform(1.0, 2.0))
                key = [f"dag_{task // 10:03}", f"task_{task:04}", f"run_{run:05}", at, 60 + task % 600]
                killed = (task + run) % 97 == 0
                size = [request, granted, "" if killed else peak, "oom_killed" if killed else "success"]
                out.writerow([*key, *size, run % 10, f"region_{run % 3}", f"team_{task % 12}"])


class Server:
    """The built server with a private PostgreSQL."""

    def __init__(self, folder: pathlib.Path, port: int) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("LOADAWARE_") and name != "DATABASE_URL"}
        env |= {"LOADAWARE_BACKGROUND_TRAINING": "false", "LOADAWARE_SEARCH_EVERY": "0", "LOADAWARE_ADMIN_ADDR": ""}
        self.url = f"http://127.0.0.1:{port}"
        command = [PROGRAM, "serve", "--addr", f"127.0.0.1:{port}", "--data", str(folder / "data")]
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        while True:
            assert self.process.poll() is None, (folder / "log").read_text()
            try:
                if json.loads(self.get("/readyz")[1])["status"] == "ready":
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.2)

    def get(self, path: str) -> tuple[float, bytes]:
        """Return the time of a request in milliseconds, and the answer."""
        begun = time.perf_counter()
        with urllib.request.urlopen(self.url + path, timeout=300) as answer:
            body = answer.read()
        return 1000 * (time.perf_counter() - begun), body

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def predict(server: Server, tasks: int, runs: int) -> None:
    """Request predictions for further runs of the first tasks, and report these runs."""
    noise = random.Random(2)
    for task in range(tasks):
        for run in range(runs, runs + PREDICTED):
            key = {"dag_id": f"dag_{task // 10:03}", "task_id": f"task_{task:04}", "run_id": f"run_{run:05}"}
            requested = {"memory_bytes": GIB * (24 + task % 5)}
            features = {"rows": run % 10, "region": f"region_{run % 3}"}
            answer = server.post("/predict", key | {"features": features, "requested": requested})
            granted = answer["memory"]["limit_bytes"]
            used = {"memory_max_bytes": min(peak_of(task, run, noise), granted), "duration_seconds": 60}
            ended = (START + datetime.timedelta(days=366)).isoformat()
            server.post("/observe", key | used | {"outcome": "success", "allocated": {"memory_bytes": granted}, "ended_at": ended})


def train(server: Server, tasks: int) -> None:
    """Train the tasks whose pages are visited, because this server has no background training. In production they are trained long before a visit."""
    for task in range(0, tasks, max(1, tasks // SAMPLE)):
        server.post(f"/tasks/dag_{task // 10:03}/task_{task:04}/train", {})


def pages_of(tasks: int, runs: int) -> dict[str, list[str]]:
    """Return the addresses of each kind of page."""
    step = max(1, tasks // SAMPLE)
    keys = [urlencode({"namespace": "default", "dag_id": f"dag_{t // 10:03}", "task_id": f"task_{t:04}"}) for t in range(0, tasks, step)]
    last = f"run_id=run_{runs - 1:05}"
    lists = {name: [path] for name, path in (("overview", "/"), ("tasks", "/tasks"), ("savings", "/savings"), ("what if", "/whatif"),
             ("profiles", "/profiles"), ("campaigns", "/campaigns"), ("forecast", "/forecast"), ("audit", "/audit"))}  # fmt: skip
    return lists | {
        "savings by task": ["/savings?by=task"], "savings by owner": ["/savings?by=owner"], "by DAG and owner": ["/savings?by=dag_owner"],
        "tasks, sorted": [f"/tasks?sort={by}" for by in ("task", "-saved", "used", "-tries")] + ["/tasks?q=task_05", "/tasks?owner=team_3"],
        "task": [f"/task?{key}" for key in keys], "policy": [f"/policy?{key}" for key in keys],
        "try": [f"/try?{key}&{last}" for key in keys], "ask": [f"/ask?{key}" for key in keys], "run times": [f"/runtime?{key}" for key in keys],
    }  # fmt: skip


def wait_for_lists(server: Server) -> None:
    """Visit the overview until it is complete, then the lists of tasks and savings, and print how long a visitor waits."""
    first, page = server.get("/ui/")
    begun = time.monotonic()
    while b"is being computed" in page:
        time.sleep(0.2)
        page = server.get("/ui/")[1]
    print(f"overview at the start: {first:.0f} ms; complete {time.monotonic() - begun:.1f} s later")
    milliseconds = sum(server.get(f"/ui/{path}?format=csv")[0] for path in ("tasks", "savings"))
    print(f"the other lists were ready {milliseconds / 1000:.1f} s after that")


def p95(values: list[float]) -> float:
    """Return the 95th percentile: the smallest of the values such that at least 95 % of them are not larger."""
    return sorted(values)[max(0, -(-95 * len(values) // 100) - 1)]


def open_pages(url: str, paths: list[str], until: float) -> None:
    """Open pages in turn until a time, with a pause of one second after each, as a fast visitor does."""
    for path in itertools.cycle(paths):
        if time.time() > until:
            return
        urllib.request.urlopen(url + "/ui" + path, timeout=300).read()
        time.sleep(1)


def predictions(server: Server, tasks: int, seconds: float) -> list[float]:
    """Request predictions one after another, and return their latencies in milliseconds."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    times, end = [], time.monotonic() + seconds
    for run in itertools.count():
        task = run % SAMPLE * max(1, tasks // SAMPLE)
        ask = {"dag_id": f"dag_{task // 10:03}", "task_id": f"task_{task:04}", "features": {"rows": run % 10, "region": f"region_{run % 3}"}}
        body, begun = json.dumps(ask | {"requested": {"memory_bytes": 24 * GIB}}), time.perf_counter()
        if time.monotonic() > end:
            return times
        connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        times.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.005)


def compare_predictions(server: Server, tasks: int, runs: int, rounds: int = 4, seconds: float = 20) -> None:
    """Print the latencies of predictions, in turn without and with a visitor who opens pages."""
    pages = list(itertools.chain(*itertools.zip_longest(*pages_of(tasks, runs).values())))
    paths = [path for path in pages if path]
    predictions(server, tasks, 5)  # decodes the models
    for number in range(rounds):
        for name in ("alone", "beside a visitor"):
            visitor = multiprocessing.Process(target=open_pages, args=(server.url, paths, time.time() + seconds if name != "alone" else 0))
            visitor.start()
            times = sorted(predictions(server, tasks, seconds))
            visitor.join()
            print(f"{number} {name:17} {len(times)} predictions, p50 {times[len(times) // 2]:.2f} ms, p99 {times[len(times) * 99 // 100]:.2f} ms", flush=True)


def main(tasks: int = 1000, runs: int = 1000) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="loadaware-speed-"))
    folder.chmod(0o755)
    port, begun = random.randrange(20000, 30000), time.monotonic()
    server = Server(folder, port)
    try:
        write_history(folder / "history.csv.gz", tasks, runs)
        subprocess.run([PROGRAM, "import", str(folder / "history.csv.gz"), "--url", server.url], check=True, stdout=subprocess.DEVNULL)
        predict(server, min(tasks, 100), runs)
        train(server, tasks)
        server.stop()
        print(f"{tasks} tasks, {tasks * runs} runs, filled in {time.monotonic() - begun:.0f} s", flush=True)
        server = Server(folder, port)
        wait_for_lists(server)
        print(f"{'page':16} {'n':>3} {'first p95':>10} {'later p95':>10} {'kB':>6}")
        large = []
        for name, paths in pages_of(tasks, runs).items():
            first = [server.get("/ui" + path) for path in paths]
            later = [server.get("/ui" + path)[0] for path in paths]
            size = max(len(body) for _, body in first)
            large += [name] * (size > MAX_BYTES)
            print(f"{name:16} {len(paths):3} {p95([t for t, _ in first]):7.0f} ms {p95(later):7.0f} ms {size / 1000:6.0f}", flush=True)
        compare_predictions(server, tasks, runs)
        assert not large, f"larger than {MAX_BYTES} bytes: {large}"
    finally:
        server.stop()
        subprocess.run(["rm", "-rf", str(folder)], check=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
