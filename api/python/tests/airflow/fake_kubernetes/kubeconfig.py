"""The kubeconfig of the fake API."""

from __future__ import annotations

import json
from pathlib import Path


def write_kubeconfig(path: Path, url: str) -> Path:
    """Write a kubeconfig without credentials, as JSON, which is valid YAML."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "fake", "cluster": {"server": url}}],
                "users": [{"name": "anonymous", "user": {}}],
                "contexts": [
                    {"name": "fake", "context": {"cluster": "fake", "user": "anonymous", "namespace": "default"}}
                ],
                "current-context": "fake",
            }
        )
    )
    return path
