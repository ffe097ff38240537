"""Tests of licences.py and metadata.py: each check finds what it must reject.

python -m unittest discover -s scripts/dist      in the environment of api/python/requirements/dist.txt
"""

import copy
import json
import tempfile
import unittest
import unittest.mock
from contextlib import redirect_stdout
from email.message import Message
from email.parser import Parser
from io import StringIO
from pathlib import Path

import licences
import metadata

GOOD = """Name: airflow-provider-loadaware
Version: 1.0.0
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.10
Description-Content-Type: text/markdown
Classifier: Framework :: Apache Airflow
Classifier: Framework :: Apache Airflow :: Provider
Classifier: Programming Language :: Python :: 3.10
Classifier: Typing :: Typed
Project-URL: Homepage, https://example.org
Project-URL: Documentation, https://example.org
Project-URL: Changelog, https://example.org
Project-URL: Source, https://example.org
Project-URL: Issues, https://example.org
Requires-Dist: httpx<1
Requires-Dist: apache-airflow<4,>=2.11; extra == "airflow"
Requires-Dist: apache-airflow-providers-cncf-kubernetes>=10.5; extra == "airflow"
"""
INFO = {
    "package-name": metadata.NAME, "name": "loadaware", "description": "d", "versions": ["1.0.0"], "extra-links": ["p.links.Link"],
    "connection-types": [{"hook-class-name": "p.hooks.Hook", "conn-fields": {"verify": {}}, "ui-field-behaviour": {"hidden-fields": []}}],
}  # fmt: skip
FILES = {"p/links.py": "class Link: pass", "p/hooks.py": "class Hook: pass"}


def component(name: str, *found: dict[str, object]) -> dict[str, object]:
    return {"name": name, "type": "library", "licenses": list(found)}


def problems(*components: dict[str, object]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        file = Path(folder) / "loadaware.cdx.json"
        file.write_text(json.dumps({"components": components}))
        return [line for line in licences.print_page([file]) if line]


class Licences(unittest.TestCase):
    """licences.py finds unknown and incompatible licences."""

    def test_compatible(self) -> None:
        mit, bsd = {"license": {"id": "MIT"}}, {"license": {"name": "License :: OSI Approved :: BSD License"}}
        self.assertEqual(problems(component("a", mit, bsd), component("b", {"expression": "GPL-3.0-only OR MIT"})), [])

    def test_incompatible(self) -> None:
        mit = {"license": {"id": "MIT"}}
        for found, words in (
            (component("a"), "no licence found"),
            (component("a", {"license": {"id": "GPL-3.0-only"}}), "GPL-3.0-only"),
            (component("a", {"license": {"name": "a text that no one knows"}}), "a text that no one knows"),
            (component("a", mit, {"license": {"name": "a text that no one knows"}}), "a text that no one knows"),
            (component("a", {"expression": "MIT AND AGPL-3.0-only"}), "AGPL-3.0-only"),
            (component("github.com/rocketlaunchr/dataframe-go", mit), "military"),
        ):
            with self.subTest(words):
                (problem,) = problems(found)
                self.assertIn(words, problem)

    def test_listed(self) -> None:
        text = "| name | licence |\n|---|---|\n| typing_extensions | PSF-2.0 |\n| example.org/m | MIT |\n| bad | GPL-3.0-only |\n"
        self.assertEqual([p for p in licences.check_listed(text, ["typing-extensions", "example.org/m"]) if p], [])
        for name, words in (("example.org/n", "does not list"), ("bad", "GPL-3.0-only")):
            (problem,) = licences.check_listed(text, [name])
            self.assertIn(words, problem)


class Metadata(unittest.TestCase):
    """metadata.py finds each missing part of the package's metadata."""

    def problems(self, text: str) -> list[str]:
        found: Message = Parser().parsestr(text)
        return list(metadata.check_distribution(found, "1.0.0"))

    def test_complete(self) -> None:
        self.assertEqual(self.problems(GOOD), [])
        self.assertEqual(list(metadata.check_provider(INFO, "1.0.0", FILES)), [])

    def test_each_line_is_needed(self) -> None:
        for line in GOOD.splitlines(keepends=True):
            if not line.startswith("Requires-Dist: httpx"):
                with self.subTest(line):
                    self.assertNotEqual(self.problems(GOOD.replace(line, "")), [])

    def test_wrong_values(self) -> None:
        for old, new, words in (
            ("Version: 1.0.0", "Version: 0.9", "Version"),
            (">=3.10", ">=3.11", ">=3.11"),
            ("<4,>=2.11", "<3,>=2.11", "airflow-3.txt"),
            ('apache-airflow<4,>=2.11; extra == "airflow"', "apache-airflow<4,>=2.11", "without the extra"),
            ('2.11; extra == "airflow"', '2.11; python_version >= "3"', "without the extra"),
        ):
            with self.subTest(words):
                self.assertIn(words, "\n".join(self.problems(GOOD.replace(old, new))))

    def test_lock_without_airflow(self) -> None:
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(metadata, "LOCKS", Path(folder)):
            (Path(folder) / "airflow-9.txt").write_text("apache-airflow==3.0\n")
            self.assertEqual(self.problems(GOOD), ["airflow-9.txt has no apache-airflow-providers-cncf-kubernetes"])

    def test_incomplete_provider_information(self) -> None:
        for key in INFO:
            with self.subTest(key):
                self.assertNotEqual(list(metadata.check_provider({k: v for k, v in INFO.items() if k != key}, "1.0.0", FILES)), [])
        without_form = copy.deepcopy(INFO)
        del without_form["connection-types"][0]["conn-fields"]
        self.assertIn("form", "".join(metadata.check_provider(without_form, "1.0.0", FILES)))
        self.assertIn("p.links.Link", "".join(metadata.check_provider(INFO, "1.0.0", {**FILES, "p/links.py": "class Other: pass"})))


if __name__ == "__main__":
    unittest.main()
