"""Child processes that the tests stop by their id."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

GRACE = 20.0  # seconds between SIGTERM and SIGKILL


class Process:
    """A process that leads its own session and process group, so that `stop` and `kill_session` reach its children."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path, cwd: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                list(command),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait()

    def kill_session(self) -> None:
        """Kill all processes of its session, as the end of a container does.

        Killing its process group would not suffice, because Airflow's tasks have process groups of their own.
        """
        session = self._popen.pid
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:  # pid (comm) state ppid pgrp session
                    os.kill(int(stat.parent.name), signal.SIGKILL)
        self._popen.wait()

    def terminate(self) -> None:
        if not self.has_ended():
            self._popen.terminate()

    def stop(self) -> None:
        """Terminate it, wait for its end for at most GRACE, and kill what remains of its process group."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(GRACE)
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
