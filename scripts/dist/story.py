"""Run the example of the README against a server that was started with --demo on an empty store.

The answers must have every field that the README shows, except those of VARYING.

python scripts/dist/story.py README.md http://127.0.0.1:8080
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SECTIONS = ("Ask", "Report an OOM kill and ask for a lift", "Report a success")
VARYING = {"prediction_id"}  # fields that differ in every run
TRAINING_SECONDS = 120  # longest wait for the training after the success
# Pause between two commands, as in the README. Without the pause, a training may read a report before the receipt of
# the prediction is stored.
PAUSE_SECONDS = 2
AGAIN = "curl -sS localhost:8080/predict -H 'Content-Type: application/json' -d @try.json"  # the prediction after the success


def blocks(readme: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the commands of the example, each with the fields of the JSON block that follows it."""
    found = []
    for section in SECTIONS:
        text = readme.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
        command = ""
        for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if language == "json":
                found.append((command, json.loads(re.sub(r",?\s*…", "", body))))
            else:
                command = body
    return found


def differences(want: object, got: object, path: str = "") -> list[str]:
    """Return the differences between an answer and the fields that the README shows."""
    if isinstance(want, dict) and isinstance(got, dict):
        return [d for key in want if key not in VARYING for d in differences(want[key], got.get(key), f"{path}.{key}")]
    if isinstance(want, float) and isinstance(got, (int, float)):
        got = round(got, len(str(want).partition(".")[2]))  # the README rounds some numbers
    return [] if want == got else [f"{path[1:]}: README {want!r}, server {got!r}"]


def run(command: str, url: str, folder: str) -> Any:
    """Run a command of the README against this server and return its answer."""
    script = re.sub(r"\bcurl (?!-sS)", "curl -sS ", command.replace("localhost:8080", url))
    done = subprocess.run(["bash", "-euc", script], cwd=folder, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def main() -> int:
    """Run the example. Return 1 if an answer differs, otherwise 0."""
    readme, url = Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]
    example = blocks(readme)
    assert len(example) == 5, f"the README has {len(example)} answers; adapt this script to the README"
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for command, want in example[:-1]:
            time.sleep(PAUSE_SECONDS)
            bad += differences(want, run(command, url, folder))
        # The last command reports the success. The last answer is a prediction by the model that has learned this report.
        command, want = example[-1]
        time.sleep(PAUSE_SECONDS)
        assert run(command, url, folder)["recorded"] is True
        end = time.monotonic() + TRAINING_SECONDS
        while differences(want, answer := run(AGAIN, url, folder)) and time.monotonic() < end:
            time.sleep(1)
        bad += differences(want, answer)
    for line in bad:
        print("FAILED:", line)
    print(f"{len(example)} answers of the README compared")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
