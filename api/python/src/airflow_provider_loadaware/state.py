"""Small JSON files that outlive a process: every try is a process of its own.

Whatever goes wrong here (no folder, a full disk, garbage in a file) costs memory of the past, never the task.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_MOST_BYTES = 256 << 10  # a file above this is not ours


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is none, or anything else than one."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: dict[str, Any]) -> bool:
    """Replaces a file at once, so that no reader sees half of it. Whether it could be written."""
    temporary = None
    try:
        data = json.dumps(value).encode()
        if len(data) > _MOST_BYTES:
            return False
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except (OSError, ValueError, TypeError):
        if temporary is not None:
            remove(Path(temporary))
        return False
    return True


def remove(path: Path) -> None:
    """Deletes a file that may be gone already."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def open_folder(wanted: Path) -> Path | None:
    """`wanted`, else a private folder below the system's temporary one; None if neither can be written."""
    fallback = Path(tempfile.gettempdir()) / f"loadaware-{os.getuid()}"
    for folder in (wanted, fallback):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # In a shared temporary folder somebody else may own that name.
            if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


class Shelf:
    """At most `limit` small objects by key, in a folder; the oldest goes first."""

    def __init__(self, folder: Path | None, name: str, limit: int) -> None:
        self._folder = folder / name if folder else None
        self._limit = limit

    def put(self, key: str, value: dict[str, Any]) -> bool:
        """Keeps `value`, in place of what was there. Whether it could be kept."""
        if self._folder is None:
            return False
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        kept = write_json(self._folder / f"{key}.json", value)
        for path in self._paths()[: -self._limit]:
            remove(path)
        return kept

    def get(self, key: str) -> dict[str, Any] | None:
        """What was kept under `key`."""
        return read_json(self._folder / f"{key}.json") if self._folder else None

    def drop(self, key: str) -> None:
        """Forgets `key`."""
        if self._folder is not None:
            remove(self._folder / f"{key}.json")

    def oldest(self, count: int) -> dict[str, dict[str, Any]]:
        """Up to `count` objects, oldest first. What cannot be read is dropped on the way."""
        found: dict[str, dict[str, Any]] = {}
        for path in self._paths():
            if len(found) == count:
                break
            value = read_json(path)
            if value is None:
                remove(path)
            else:
                found[path.stem] = value
        return found

    def _paths(self) -> list[Path]:
        """The files, oldest first."""
        if self._folder is None:
            return []
        aged = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.json"):
                with contextlib.suppress(OSError):
                    aged.append((path.stat().st_mtime_ns, path.name, path))
        return [path for _, _, path in sorted(aged)]
