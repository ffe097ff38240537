"""Computes the version of the package in a clone; a source distribution has it in PKG-INFO."""

import subprocess
from pathlib import Path

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "dist" / "version.sh"
__version__ = subprocess.run(["sh", _SCRIPT, "python"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
