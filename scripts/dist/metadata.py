"""Check the metadata of the wheel and the source distribution that package indexes and Airflow's registry read.

This check runs without Airflow; api/python/tests/unit/test_provider_info.py uses Airflow itself.

python scripts/dist/metadata.py VERSION WHEEL SDIST      in an environment that has packaging
"""

from __future__ import annotations

import ast
import configparser
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

NAME = "airflow-provider-loadaware"
CLASSIFIERS = {"Framework :: Apache Airflow", "Framework :: Apache Airflow :: Provider", "Typing :: Typed"}
LINKS = {"Homepage", "Documentation", "Changelog", "Source", "Issues"}
PROVIDER_FIELDS = {"package-name", "name", "description", "versions"}
LOCKS = Path("api/python/requirements")


def check_distribution(found: Message, version: str) -> Iterator[str]:
    """Yield the problems with the fields of METADATA or PKG-INFO."""
    for field, want in (("Name", NAME), ("Version", version), ("License-Expression", "Apache-2.0"), ("License-File", "LICENSE")):
        if found[field] != want:
            yield f"{field} is {found[field]!r}; it must be {want!r}"
    classifiers = set(found.get_all("Classifier", ()))
    for missing in sorted(CLASSIFIERS - classifiers):
        yield f"the classifier {missing!r} is missing"
    if missing := LINKS - {entry.partition(",")[0] for entry in found.get_all("Project-URL", ())}:
        yield f"the project links {sorted(missing)} are missing"
    if found["Description-Content-Type"] != "text/markdown":
        yield f"the description is {found['Description-Content-Type']}; it must be text/markdown"
    minors = [int(p) for c in classifiers for p in re.findall(r"^Programming Language :: Python :: 3\.(\d+)$", c)]
    if not minors or found["Requires-Python"] != f">=3.{min(minors)}":
        yield f"Requires-Python is {found['Requires-Python']}; the classifiers name Python 3.{min(minors, default='…')} and newer"
    yield from check_airflow_versions(found)


def check_airflow_versions(found: Message) -> Iterator[str]:
    """Yield the problems with the versions of Airflow that the extra allows."""
    requirements = [Requirement(r) for r in found.get_all("Requires-Dist", ())]
    allowed = {r.name: r.specifier for r in requirements if r.marker and r.marker.evaluate({"extra": "airflow"})}
    if any(r.name.startswith("apache-airflow") and "extra" not in str(r.marker) for r in requirements):
        yield "Airflow is required without the extra airflow; an installation would change the user's Airflow"
    for package in ("apache-airflow", "apache-airflow-providers-cncf-kubernetes"):
        for lock in sorted(LOCKS.glob("airflow-*.txt")):
            tested = re.search(rf"^{package}==(\S+)", lock.read_text(), re.MULTILINE)
            if tested is None:
                yield f"{lock.name} has no {package}"
            elif not allowed.get(package, SpecifierSet("<0")).contains(tested[1]):
                yield f"the extra airflow does not allow {package} of {lock.name}, with which the provider is tested"


def check_provider(info: dict[str, Any], version: str, files: dict[str, str]) -> Iterator[str]:
    """Yield the problems with the provider's information. `files` maps the paths of the wheel's Python files to texts."""
    if missing := PROVIDER_FIELDS - info.keys():
        yield f"get_provider_info has no {', '.join(sorted(missing))}"
    if info.get("package-name") != NAME or info.get("versions") != [version]:
        yield f"get_provider_info describes {info.get('package-name')} {info.get('versions')}; it must describe {NAME} {version}"
    connections, decorators = info.get("connection-types", []), info.get("task-decorators", [])
    if not connections or not all(c.get("conn-fields") and c.get("ui-field-behaviour") for c in connections):
        yield "get_provider_info has no connection, or one without a form"
    if not info.get("extra-links"):
        yield "get_provider_info has no extra link"
    names = [*(c["hook-class-name"] for c in connections), *info.get("extra-links", []), *(d["class-name"] for d in decorators)]
    for path in names:
        module, _, name = path.rpartition(".")
        tree = ast.parse(files.get(module.replace(".", "/") + ".py", ""))
        if name not in {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}:
            yield f"get_provider_info names {path}, which the wheel does not define"


def check_wheel(wheel: Path, version: str) -> Iterator[str]:
    """Yield the problems with a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = (n.partition("/")[0] for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        yield from check_distribution(Parser().parsestr(archive.read(f"{folder}/METADATA").decode()), version)
        points = configparser.ConfigParser()
        points.read_string(archive.read(f"{folder}/entry_points.txt").decode())
        files = {n: archive.read(n).decode() for n in archive.namelist() if n.endswith(".py")}
        for package in ("airflow_provider_loadaware", "loadaware_client"):
            if f"{package}/py.typed" not in archive.namelist():
                yield f"{package}/py.typed is missing"
    if not points.has_section("apache_airflow_provider"):
        yield "the entry point apache_airflow_provider is missing"
        return
    sys.path.insert(0, str(wheel))  # importing the provider imports no Airflow
    import airflow_provider_loadaware as provider

    assert provider.__file__ and provider.__file__.startswith(str(wheel)), provider.__file__
    (point,) = points["apache_airflow_provider"].values()
    yield from check_provider(getattr(provider, point.rpartition(":")[2])(), version, files)


def check_sdist(sdist: Path, version: str) -> Iterator[str]:
    """Yield the problems with a source distribution."""
    with tarfile.open(sdist) as archive:
        info = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert info is not None
        yield from check_distribution(Parser().parsestr(info.read().decode()), version)


def main() -> int:
    """Print the problems with both distributions. Return 1 if there is one, otherwise 0."""
    version, wheel, sdist = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    wrong = [f"{wheel.name}: {w}" for w in check_wheel(wheel, version)] + [f"{sdist.name}: {w}" for w in check_sdist(sdist, version)]
    for line in wrong:
        print("metadata:", line, file=sys.stderr)
    if not wrong:
        print(f"the metadata of {NAME} {version} is complete")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
