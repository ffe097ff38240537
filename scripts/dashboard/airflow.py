"""Look at the dashboard in the pages of a real Airflow, like a person with a browser.

python airflow.py CHROMIUM PYTHON [FOLDER]    PYTHON has Airflow installed; the pictures of docs/airflow.md go into FOLDER
"""

import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Error, Frame, FrameLocator, Page, expect, sync_playwright

TESTS = pathlib.Path(__file__).parents[2] / "api/python/tests/airflow"
RUN = "dags/sized/runs/first"


@contextmanager
def deployment(python: str) -> Iterator[dict]:
    """Start Airflow and loadaware, yield the version of Airflow and the addresses of both, and end both."""
    command = [pathlib.Path(python).absolute(), "-m", "harness.user_interface"]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert line, "the deployment did not start; its messages are above"
        yield json.loads(line)
        process.stdin.close()


def check_try(page: Page | Frame | FrameLocator) -> None:
    """Check that a page shows a try after a lift, and a killed try in the table of all tries of the run."""
    expect(page.get_by_role("heading", name=re.compile("^first, try [2-9]"))).to_be_visible()
    expect(page.get_by_role("heading", name="All tries of this run")).to_be_visible()
    expect(page.locator(".state.oom_killed").first).to_be_visible()


def look_at_the_tab(page: Page, urls: dict, take: object) -> None:
    """Check the try in a tab of the task instance, and the overview in the navigation of Airflow 3."""
    page.goto(f"{urls['airflow']}/{RUN}/tasks/work")
    page.get_by_role("link", name="Memory").click()
    frame = page.frame_locator("iframe")
    check_try(frame)
    take("try")
    frame.locator("tr", has=page.locator(".oom_killed")).get_by_role("link").first.click()
    expect(frame.get_by_role("heading", name="Why it was killed")).to_be_visible()
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("menuitem", name="loadaware").click()
    expect(page.frame_locator("iframe").get_by_role("heading", name="Overview")).to_be_visible()


def look_at_the_link(page: Page, urls: dict, take: object) -> None:
    """Check the link beside the details of the task instance in Airflow 2, which opens the try."""
    page.goto(f"{urls['airflow']}/dags/sized/grid?dag_run_id=first&task_id=work")
    link = page.get_by_role("link", name="loadaware receipt")
    expect(link).to_be_visible()
    take("link")
    with page.context.expect_page() as opened:
        link.click()
    check_try(opened.value)


def main(chromium: str, python: str, folder: str = "") -> None:
    with deployment(python) as urls, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)  # enough on a busy machine
        expect.set_options(timeout=60_000)

        def take(name: str) -> None:
            if folder:
                page.screenshot(path=f"{folder}/airflow-{name}.png")

        look = look_at_the_tab if urls["version"] == "3" else look_at_the_link
        try:
            look(page, urls, take)
        except (AssertionError, Error):
            take(f"{urls['version']}-failure")
            raise
        browser.close()
        print(f"Airflow {urls['version']} shows the dashboard")


if __name__ == "__main__":
    main(*sys.argv[1:])
