"""Print docs/licences.md: the licence of every component of a release. Fail if a licence is unknown or incompatible.

python scripts/dist/licences.py FILE.cdx.json…
python scripts/dist/licences.py --listed docs/licences.md NAME…    only check that the page lists compatible licences for these names
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

# Licences that allow distribution in a work under Apache-2.0 together with the text of the licence. MPL-2.0 is
# compatible because loadaware does not change the files under it (section 3.2 of MPL-2.0).
COMPATIBLE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PostgreSQL", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}
# SPDX identifiers for the classifiers of packages that state no identifier.
SPDX = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}
# Modules whose licences are incompatible although a tool may name a compatible one, and what to do instead.
INCOMPATIBLE = {"github.com/rocketlaunchr/dataframe-go": "its licence forbids military use; keep its replacement in go.mod"}
OWN = {"github.com/loadaware/loadaware", "stdlib", "./internal/dataframe"}  # components that are no dependencies

HEAD = """# Licences of dependencies

This page lists the Go modules in a release, the Python packages that its wheel requires, and their licences. `make licences` writes it from the component lists of `make dist`,
which fails if a licence is unknown or incompatible with Apache-2.0. The archives and images contain the licence texts (`THIRD_PARTY_NOTICES`). The wheel
contains no dependency. `loadaware` itself is under [Apache-2.0](../LICENSE), Go and its standard library under BSD-3-Clause.

**One module is replaced because of its licence.** golearn imports `github.com/rocketlaunchr/dataframe-go`, whose licence forbids military use.
`go.mod` replaces it by `internal/dataframe`, which has no code of the original. `make dist` fails if a program contains the original.
"""


def identifiers(component: dict[str, object]) -> str:
    """Return the SPDX expression of a component; "" without a licence. A licence without an identifier appears by name."""
    found = set()
    for entry in component.get("licenses", ()):  # type: ignore[attr-defined]
        licence = entry.get("license", {})
        name = entry.get("expression") or licence.get("id") or licence.get("name")
        if name:
            found.add(SPDX.get(name, name))
    return " AND ".join(sorted(found))


def is_compatible(expression: str) -> bool:
    """Return whether each part of an SPDX expression has a compatible alternative."""
    parts = expression.split(" AND ")
    return bool(expression) and all(any(a.strip("() ") in COMPATIBLE for a in re.split(r" OR ", p)) for p in parts)


def check(name: str, licence: str) -> str:
    """Return the problem with the licence of a component; "" if there is none."""
    if reason := INCOMPATIBLE.get(name):
        return f"{name}: {reason}"
    if not is_compatible(licence):
        return f"{name}: {licence or 'no licence found'}; find its licence. If it is compatible, add it to COMPATIBLE, or its other name to SPDX, in scripts/dist/licences.py; otherwise replace the component"
    return ""


def print_page(files: list[Path]) -> list[str]:
    """Print the page and return the problem of each component; "" if there is none."""
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for file in files:
        kind = "Python" if file.name.startswith("airflow_provider") else "Go"
        for component in json.loads(file.read_text())["components"]:
            if component["name"] not in OWN and component["type"] != "file":
                rows[kind][component["name"]] = identifiers(component)
    print(HEAD)
    for kind, title in (("Go", "Go modules in the programs"), ("Python", "Python packages that the wheel requires")):
        print(f"## {title}\n\n| name | licence |\n|---|---|")
        for name, licence in sorted(rows[kind].items()):
            print(f"| {name} | {licence} |")
        print()
    return [check(name, licence) for found in rows.values() for name, licence in found.items()]


def normalised(name: str) -> str:
    """Return the name of a Go module unchanged, and of a Python package normalised as in PEP 503."""
    return name if "/" in name else re.sub(r"[-_.]+", "-", name).lower()


def check_listed(text: str, names: list[str]) -> list[str]:
    """Return the problem with the licence that a page lists for each name; "" if there is none."""
    rows = {normalised(n): licence for n, licence in re.findall(r"^\| (\S+) \| (.*) \|$", text, re.MULTILINE)}
    return [
        check(name, rows[normalised(name)]) if normalised(name) in rows else f"docs/licences.md does not list {name}; add the row | {name} | LICENCE |, run make dist, then make licences"
        for name in names
        if name not in OWN
    ]


def main() -> int:
    """Print the page, or check it with --listed. Return 1 if a licence is unknown or incompatible, otherwise 0."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--listed", type=Path, metavar="PAGE")
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    wrong = check_listed(args.listed.read_text(), args.names) if args.listed else print_page([Path(n) for n in args.names])
    bad = sorted({line for line in wrong if line})
    for line in bad:
        print(f"licences: {line}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
