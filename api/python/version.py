"""Computes the version of the package in a clone; a source distribution has it in PKG-INFO."""

import subprocess
from pathlib import Path

_SCRIPT = Path(__file__).resolve().parent / "../../scripts/dist/version.sh"


def _read_version() -> str:
    # Each error is a RuntimeError: hatchling replaces an error by a new one of the same class with one argument, and
    # CalledProcessError needs two.
    if not _SCRIPT.exists():
        raise RuntimeError(
            "the version is unknown, because scripts/dist/version.sh is missing: this folder is no part of a clone; "
            "install it from a clone of the repository, or install the wheel or the source distribution of a release"
        )
    found = subprocess.run(["sh", _SCRIPT, "python"], capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError(f"the version is unknown: {found.stderr.strip()}")
    return found.stdout.strip()


__version__ = _read_version()
