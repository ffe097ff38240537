"""The file by which clients find the API."""

from __future__ import annotations

import json
from pathlib import Path


def write_kubeconfig(path: Path, url: str) -> Path:
    """A kubeconfig of one cluster without credentials; JSON, which is YAML too."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "fake", "cluster": {"server": url}}],
                "users": [{"name": "nobody", "user": {}}],
                "contexts": [
                    {"name": "fake", "context": {"cluster": "fake", "user": "nobody", "namespace": "default"}}
                ],
                "current-context": "fake",
            }
        )
    )
    return path
