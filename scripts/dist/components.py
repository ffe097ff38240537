"""Make a CycloneDX document reproducible: a serial number from the content, the time of the commit, no paths.

python scripts/dist/components.py [--version VERSION] FILE
"""

import argparse
import datetime
import json
import os
import sys
import uuid
from pathlib import Path

NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # the namespace of URLs in RFC 9562
# Properties with these prefixes may contain paths of this machine. main removes them, except those of the architecture.
PATHS = ("syft:location:", "syft:metadata:")


def main() -> None:
    """Print the reproducible document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--version")
    parser.add_argument("file", type=Path)
    args = parser.parse_args()
    document = json.loads(args.file.read_text())
    metadata = document["metadata"]
    if args.version:
        metadata["component"]["version"] = args.version
    version = metadata["component"]["version"]
    for component in document.get("components", ()):
        component["properties"] = [
            p for p in component.get("properties", ()) if not p["name"].startswith(PATHS) or "architecture" in p["name"]
        ]
    document.pop("serialNumber", None)
    metadata.pop("timestamp", None)
    content = json.dumps(document, sort_keys=True).replace("(devel)", f"v{version}")
    root = metadata["component"]
    if root["type"] == "file":  # syft derives the reference from the path of the program
        content = content.replace(f'"{root["bom-ref"]}"', f'"{root["name"]}@{version}"')
    document = json.loads(content)
    metadata = document["metadata"]
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}"
    metadata["timestamp"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    json.dump(document, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
