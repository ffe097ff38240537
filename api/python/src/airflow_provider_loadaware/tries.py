"""The key of one try of a task, which predictions and reports share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Try:
    """The key fields of POST /observe. `map_index` is -1 for a task that is not mapped."""

    namespace: str
    dag_id: str
    task_id: str
    run_id: str
    map_index: int = -1
    try_number: int = 1

    @classmethod
    def of(cls, context: Mapping[str, Any], namespace: str) -> Try:
        """Return the try of a task context. Raises KeyError or AttributeError if the context names no task or run."""
        ti = context["ti"]
        map_index = getattr(ti, "map_index", -1)
        return cls(
            namespace=namespace,
            dag_id=str(ti.dag_id),
            task_id=str(ti.task_id),
            run_id=str(context.get("run_id") or ti.run_id),
            map_index=map_index if isinstance(map_index, int) else -1,
            try_number=max(1, int(ti.try_number)),
        )

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Try:
        """Return the try of a request or report that has the fields of `body()`."""
        return cls(**{field.name: body[field.name] for field in fields(cls)})

    def body(self) -> dict[str, Any]:
        """Return the fields for a request."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A file name for this try."""
        return _digest([*self._run(), self.try_number])

    @property
    def run_key(self) -> str:
        """A file name for this (task, run, map index): the same for all of its tries."""
        return _digest(self._run())

    def _run(self) -> list[str | int]:
        return [self.namespace, self.dag_id, self.task_id, self.run_id, self.map_index]


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
