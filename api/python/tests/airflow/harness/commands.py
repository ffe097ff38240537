"""Runs commands of Airflow, each in a fork of one process that has imported Airflow once.

The import costs more CPU time than most of the commands. Commands starts `python -m harness.commands`. Every input
line of that process is a list of a module and its arguments; the module runs like a program of its own. The output has
one line per command: [exit code, output of the command].
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path


class Commands:
    """The process that runs the commands. It starts with the first command and ends when its input closes."""

    def __init__(self, env: Mapping[str, str], cwd: Path) -> None:
        self._env, self._cwd = dict(env), cwd
        self._process: subprocess.Popen[str] | None = None

    def run(self, module: str, *arguments: str, seconds: float) -> tuple[int, str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "harness.commands"],
                env=self._env,
                cwd=self._cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([module, *arguments]) + "\n")
        self._process.stdin.flush()
        watchdog = threading.Timer(seconds, self._process.kill)
        watchdog.start()
        try:
            answer = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        assert answer, f"{module} {' '.join(arguments)} has not ended within {seconds} s, or its process crashed"
        code, output = json.loads(answer)
        return code, output

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate()  # closes its input
            self._process = None


def _fork(command: list[str]) -> tuple[int, str]:
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                code = _run(command)
            finally:
                os._exit(code)  # skip the exit handlers of the parent
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode(errors="replace")


def _run(command: list[str]) -> int:
    import runpy

    sys.argv = command
    code: object = 0
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - the output contains it
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code or 0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep other output out of the answers
    from airflow.api.client import get_current_api_client
    from airflow.cli.cli_parser import get_parser

    _ = get_current_api_client, get_parser  # only imported for the forks
    for line in sys.stdin:
        print(json.dumps(_fork(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
