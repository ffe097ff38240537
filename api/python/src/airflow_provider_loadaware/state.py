"""Small JSON files that processes share, because every try runs in its own process.

An error here (no folder, a full disk, a corrupt file) loses stored state but never fails the task.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_MAX_BYTES = 256 << 10  # this provider writes no larger file


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a file, or None if there is no readable object of at most _MAX_BYTES."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: dict[str, Any]) -> bool:
    """Replace a file atomically. Returns whether that succeeded."""
    temporary = None
    try:
        data = json.dumps(value).encode()
        if len(data) > _MAX_BYTES:
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
    """Delete a file, if it exists."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def open_folder(preferred: Path) -> Path | None:
    """Return the first of `preferred` and a temporary folder that this user owns and can write, or None."""
    fallback = Path(tempfile.gettempdir()) / f"loadaware-{os.getuid()}"
    for folder in (preferred, fallback):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # In a shared temporary directory, another user may own a folder of that name.
            if folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


class FileStore:
    """Stores at most `limit` small objects by key in a folder and evicts the oldest."""

    def __init__(self, folder: Path | None, name: str, limit: int) -> None:
        self._folder = folder / name if folder else None
        self._limit = limit

    def put(self, key: str, value: dict[str, Any]) -> bool:
        """Store `value` under `key`. Returns whether that succeeded."""
        if self._folder is None:
            return False
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        stored = write_json(self._folder / f"{key}.json", value)
        for path in self._paths()[: -self._limit]:
            remove(path)
        return stored

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the object under `key`, or None."""
        return read_json(self._folder / f"{key}.json") if self._folder else None

    def drop(self, key: str) -> None:
        """Delete `key`."""
        if self._folder is not None:
            remove(self._folder / f"{key}.json")

    def move_to_end(self, key: str) -> None:
        """Make the object under `key` the youngest."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                os.utime(self._folder / f"{key}.json")

    def oldest(self, count: int) -> dict[str, dict[str, Any]]:
        """Return up to `count` objects, oldest first. Deletes unreadable files."""
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
        if self._folder is None:
            return []
        aged = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.json"):
                with contextlib.suppress(OSError):
                    aged.append((path.stat().st_mtime_ns, path.name, path))
        return [path for _, _, path in sorted(aged)]
