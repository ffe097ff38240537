"""A real Airflow with a separate home, SQLite, a scheduler with LocalExecutor, and a triggerer."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.commands import Commands
from harness.processes import Process
from harness.waiting import wait_for

Json = dict[str, Any]

TESTS = Path(__file__).resolve().parent.parent
MAJOR = int(version("apache-airflow").split(".")[0])
ENDED = {"success", "failed"}
SCHEDULER = ("scheduler", "--skip-serve-logs")

# A new database after `airflow db migrate`, which takes seconds: later deployments get a copy.
_new_database: bytes | None = None


@dataclass(frozen=True)
class TaskInstance:
    task_id: str
    map_index: int
    state: str
    tries: int


class Airflow:
    """A deployment with the DAGs of tests/airflow/dags, unless `extra_env` names another folder."""

    def __init__(self, home: Path, extra_env: Mapping[str, str]) -> None:
        self.home = home
        self.env = {**_environment(home), **extra_env}
        self._database = home / "airflow.db"
        self._processes: list[Process] = []
        config = home / "config"
        config.mkdir()
        (config / "airflow_local_settings.py").write_text("import harness.local_settings\n")
        self._commands = Commands(self.env, home)
        self._migrate()

    def start(self, *, with_ui: bool = False) -> None:
        """Start all components. Tasks need no UI: without `with_ui`, Airflow 2 gets no web server."""
        components = [list(SCHEDULER), ["triggerer", "--skip-serve-logs"]]
        if MAJOR >= 3:
            components.append(["dag-processor"])
        if MAJOR >= 3 or with_ui:
            components.append(self._web_server("all" if with_ui else "execution"))
        self._processes = [self._run(*component) for component in components]

    def crash_scheduler(self) -> None:
        """Kill the scheduler with the tasks that it runs, and start it again."""
        self._processes[0].kill_session()
        self._processes[0] = self._run(*SCHEDULER)

    def serve_api(self) -> str:
        self._processes = [self._run(*self._web_server("core"))]
        return self.url

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.env['TEST_API_PORT']}"

    def _web_server(self, apps: str) -> list[str]:
        """Return the command that starts the web server. Airflow 3 loads only `apps`, which saves seconds."""
        name, *more = ("api-server", "--apps", apps, "--host") if MAJOR >= 3 else ("webserver", "--hostname")
        return [name, *more, "127.0.0.1", "--port", self.env["TEST_API_PORT"], "--workers", "1"]

    def seed_history(self, runs: int, password: str) -> None:
        """Insert the finished runs of scenarios.history_runs into the database, and on Airflow 2 a user `reader`."""
        code, output = self._commands.run("harness.history_seed", str(runs), password, seconds=600)
        assert code == 0, output

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.stop()
        self._commands.stop()

    def wait_for_dags(self, dag_ids: set[str]) -> None:
        def parsed() -> bool:
            self._check_alive()
            errors = self.query("SELECT filename, stacktrace FROM import_error")
            assert not errors, errors
            return dag_ids <= {row[0] for row in self.query("SELECT dag_id FROM serialized_dag")}

        wait_for(f"the DAGs {sorted(dag_ids)}", parsed, seconds=600, every=0.5)

    def trigger(self, *runs: tuple[str, str, Json]) -> None:
        """Start runs, each as (dag_id, run_id, conf)."""
        requests = [{"dag_id": dag, "run_id": run, "conf": conf} for dag, run, conf in runs]
        code, output = self._commands.run("harness.trigger", json.dumps(requests), seconds=600)
        assert code == 0, output

    def wait(self, dag_id: str, run_id: str, seconds: float = 900) -> dict[tuple[str, int], TaskInstance]:
        """Wait for the end of a run. Returns its task instances by task id and map index."""

        def ended() -> bool:
            self._check_alive()
            rows = self.query("SELECT state FROM dag_run WHERE dag_id = ? AND run_id = ?", dag_id, run_id)
            return bool(rows) and rows[0][0] in ENDED

        wait_for(f"the end of {dag_id} {run_id}", ended, seconds=seconds, every=0.5)
        rows = self.query(
            "SELECT task_id, map_index, state, try_number FROM task_instance WHERE dag_id = ? AND run_id = ?",
            dag_id,
            run_id,
        )
        return {(row[0], row[1]): TaskInstance(*row) for row in rows}

    def log(self, dag_id: str, run_id: str, task_id: str, attempt: int = 1, map_index: int = -1) -> str:
        folder = self.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}" / f"task_id={task_id}"
        if map_index >= 0:
            folder /= f"map_index={map_index}"
        return (folder / f"attempt={attempt}.log").read_text(errors="replace")

    def whole_log(self, dag_id: str, run_id: str, task_id: str) -> str:
        """Return the log of the first try with the logs of its triggers."""
        folder = self.home / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}" / f"task_id={task_id}"
        return "".join(path.read_text(errors="replace") for path in sorted(folder.glob("attempt=1.log*")))

    def rendered(self, dag_id: str, run_id: str, task_id: str) -> Json:
        sql = "SELECT rendered_fields FROM rendered_task_instance_fields WHERE (dag_id, run_id, task_id) = (?, ?, ?)"
        fields: Json = json.loads(self.query(sql, dag_id, run_id, task_id)[0][0])
        return fields

    def link(self, dag_id: str, run_id: str, task_id: str) -> str:
        """Return the address of the extra link. Airflow 3 stores it; in Airflow 2 it is in the provider's XCom."""
        key = "_link_ReceiptLink" if MAJOR >= 3 else "loadaware_receipt"
        sql = "SELECT value FROM xcom WHERE (dag_id, run_id, task_id, key) = (?, ?, ?, ?)"
        return str(json.loads(self.query(sql, dag_id, run_id, task_id, key)[0][0]))

    def test_connection(self, conn_id: str) -> str:
        """Test a connection like the button of the form. Returns Airflow's output."""
        return self._commands.run("airflow", "connections", "test", conn_id, seconds=300)[1]

    def pause(self, dag_id: str, *, paused: bool) -> None:
        """Pause or unpause a DAG, once its row exists: Airflow 2 stores the serialized DAG before this row."""

        def update() -> bool:
            with closing(sqlite3.connect(self._database, timeout=30)) as connection, connection:
                sql = "UPDATE dag SET is_paused = ? WHERE dag_id = ?"
                return connection.execute(sql, (paused, dag_id)).rowcount == 1

        wait_for(f"the DAG {dag_id}", update, seconds=120, every=0.5)

    def set_variable(self, name: str, value: int) -> None:
        with closing(sqlite3.connect(self._database, timeout=30)) as connection, connection:
            connection.execute("DELETE FROM variable WHERE key = ?", (name,))
            row = (name, str(value), False)
            connection.execute("INSERT INTO variable (key, val, is_encrypted) VALUES (?, ?, ?)", row)

    def query(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._database, timeout=30)) as connection:
            return connection.execute(sql, values).fetchall()

    def runs(self, dag_id: str) -> dict[str, str]:
        return dict(self.query("SELECT run_id, state FROM dag_run WHERE dag_id = ?", dag_id))

    def output(self) -> str:
        return "\n".join(process.output()[-4000:] for process in self._processes)

    def _run(self, component: str, *arguments: str) -> Process:
        command = [sys.executable, "-m", "airflow", component, *arguments]
        return Process(command, self.env, self.home / f"{component}.out", self.home)

    def _migrate(self) -> None:
        global _new_database
        if _new_database is not None:
            self._database.write_bytes(_new_database)
            return
        with sqlite3.connect(self._database) as connection:
            connection.execute("PRAGMA journal_mode=WAL")  # readers and a writer do not wait for each other
        connection.close()
        code, output = self._commands.run("airflow", "db", "migrate", seconds=300)
        assert code == 0, output
        with closing(sqlite3.connect(self._database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # moves all of it into one file
        _new_database = self._database.read_bytes()

    def _check_alive(self) -> None:
        for process in self._processes:
            assert not process.has_ended(), process.output()[-8000:]


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of a small, isolated Airflow that polls often."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW", "LOADAWARE", "KUBE")) and name != "DATABASE_URL"
    }
    port = str(_free_port())
    settings = {
        "CORE__DAGS_FOLDER": str(TESTS / "dags"),
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__PARALLELISM": "6",
        "CORE__MAX_ACTIVE_TASKS_PER_DAG": "8",
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "CORE__UNIT_TEST_MODE": "False",
        "CORE__TEST_CONNECTION": "Enabled",
        "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
        "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
        "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "SCHEDULER__PARSING_PROCESSES": "1",
        "DAG_PROCESSOR__PARSING_PROCESSES": "1",
        # The DAG files do not change; by default each is parsed again after 30 seconds.
        "SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "300",
        "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
        # On a busy machine heartbeats are late; do not treat a slow try as dead.
        "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "900",
        "SCHEDULER__SCHEDULER_ZOMBIE_TASK_THRESHOLD": "900",
        "WORKERS__MAX_FAILED_HEARTBEATS": "180",
        # Do not fail a try because its process or its requests to Airflow are slow.
        "CORE__DAGBAG_IMPORT_TIMEOUT": "600",
        "WORKERS__EXECUTION_API_TIMEOUT": "120",
        "LOGGING__LOGGING_LEVEL": "INFO",
    }
    if MAJOR >= 3:
        settings |= {
            "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "API__BASE_URL": f"http://127.0.0.1:{port}",
            "API_AUTH__JWT_SECRET": "a test secret that is long enough for the HMAC that uses it",
            "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        }
    return {
        **inherited,
        **{f"AIRFLOW__{name}": value for name, value in settings.items()},
        "AIRFLOW_HOME": str(home),
        # Airflow 2 forbids LocalExecutor on SQLite by default; with a write-ahead log it works.
        "_AIRFLOW__SKIP_DATABASE_EXECUTOR_COMPATIBILITY_CHECK": "1",
        "TEST_API_PORT": port,
        "PYTHONPATH": str(TESTS),
        "PYTHONUNBUFFERED": "1",  # harness.deferrals reads the scheduler's log
    }


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
