"""Use the dashboard like a person with a browser: sign in, sort, filter, look at a killed try, change a policy.

The script also reads pages without JavaScript, on narrow and wide screens and by keyboard, and checks them with axe-core.

python play.py URL TOKEN CHROMIUM AXE [short | FOLDER]

With `short`, the script checks the dark colours on one page only, and skips the wide screen and the learned phases.
The script first adds predictions, reports and a campaign to the server (fill.py). With a folder, it then runs no checks, and
only writes the pictures of docs/dashboard.md into that folder.
"""

import pathlib
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from fill import fill
from playwright.sync_api import Browser, Page, expect, sync_playwright

TASK = urlencode({"namespace": "default", "dag_id": "pricing", "task_id": "predict_demand"})
WHATIF = f"/whatif?{TASK}&curve=1&risk_percent=0.5"
POLICY = f"/policy?{TASK}&mode=shadow"
RUNTIME, ASK = f"/runtime?{TASK}", f"/ask?{TASK}"
FORECAST = "/forecast?dag_id=pricing&features=product_count%3D1253"
TOOLS = (RUNTIME, ASK, FORECAST, "/campaigns", "/campaign?id=1", "/phases", f"/phases?{TASK}")
# All pages behind the sign-in except /try. /none is the page of an unknown address.
PAGES = ("/", "/tasks", f"/task?{TASK}", POLICY, WHATIF, "/savings", "/savings?by=task", "/profiles", "/audit", "/start", "/none", *TOOLS)

LEARNING_SECONDS = 15 * 60  # longest wait for phases. A server learns them one minute after its start, and then every ten minutes

# JavaScript that lists the serious and critical violations in a result of axe-core, each with one element of the page.
SERIOUS = """result => result.violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .map(v => v.id + ': ' + v.nodes[0].html)"""


class BrowserUser:
    """A user with a browser and a token."""

    def __init__(self, browser: Browser, base: str, token: str, is_short: bool) -> None:
        self.browser, self.base, self.token, self.is_short = browser, base, token, is_short
        self.problems: list[str] = []

    @contextmanager
    def page(self, signed_in: bool = True, **options: object) -> Iterator[Page]:
        """Open a page in a new browser context, without cookies of other pages."""
        context = self.browser.new_context(**options)
        page = context.new_page()
        page.set_default_timeout(60_000)  # enough on a busy machine
        page.on("request", lambda r: self.check(r.url.startswith((self.base, "data:")), f"request to {r.url}"))
        # Chromium logs an answer with a status of 4xx as an error; the scenarios expect some of them.
        page.on("console", lambda m: self.check(m.type != "error" or "status of 4" in m.text, m.text))
        if signed_in:
            self.sign_in(page)
        yield page
        context.close()

    def check(self, passed: bool, problem: str) -> None:
        """Record the problem if passed is false. main prints all problems at the end."""
        if not passed:
            self.problems.append(problem)

    def sign_in(self, page: Page) -> None:
        page.goto(self.base + "/ui/")
        page.get_by_label("Token").fill(self.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def wait_for_replay(page: Page) -> None:
    """Wait until the replay of a page has ended. The page reloads itself meanwhile."""
    expect(page.get_by_text("is running")).to_have_count(0, timeout=120_000)


def signs_in(user: BrowserUser) -> None:
    with user.page(signed_in=False) as page:
        page.goto(f"{user.base}/ui/whatif?dag_id=pricing")  # a link from another person
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not known")
        page.get_by_label("Token").fill(user.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{user.base}/ui/whatif?dag_id=pricing")
        page.get_by_role("button", name="Sign out").click()
        page.goto(user.base + "/ui/tasks")
        expect(page.get_by_label("Token")).to_be_visible()


def sorts_and_filters(user: BrowserUser) -> None:
    with user.page() as page:
        page.get_by_role("link", name="Tasks", exact=True).click()
        names = page.locator("tbody th")
        page.get_by_role("columnheader", name="used").get_by_role("link").click()
        expect(page.get_by_role("columnheader", name="used")).to_have_attribute("aria-sort", "descending")
        assert "predict_demand" in names.first.inner_text(), names.first.inner_text()
        page.get_by_role("columnheader", name="used").get_by_role("link").click()
        assert "publish_prices" in names.first.inner_text(), names.first.inner_text()
        page.keyboard.press("/")
        page.keyboard.type("sales")
        page.keyboard.press("Enter")
        expect(names).to_have_count(2)
        assert "q=sales" in page.url and "sort=used" in page.url, page.url


def looks_at_a_killed_try(user: BrowserUser) -> None:
    with user.page() as page:
        page.get_by_role("link", name="pricing/predict_demand").click()
        page.locator(".wide a:has(.cross)").first.click()
        expect(page.get_by_role("heading", name="Why it was killed")).to_be_visible()
        expect(page.get_by_text("would have held", exact=True)).to_be_visible()
        page.locator("section", has_text="All tries of this run").get_by_role("link").last.click()
        expect(page.locator(".state.success").first).to_be_visible()


def changes_a_policy(user: BrowserUser) -> None:
    with user.page() as page:
        page.goto(f"{user.base}/ui/task?dag_id=pricing&task_id=clean_sales")
        page.get_by_role("combobox", name="Mode").select_option("shadow")
        page.get_by_role("textbox", name="Floor").fill("2 GB of it")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("alert")).to_contain_text("floor")
        page.get_by_role("textbox", name="Floor").fill("2Gi")
        page.get_by_role("button", name="Preview").click()
        wait_for_replay(page)
        expect(page.get_by_role("row", name="new policy")).to_be_visible()
        page.get_by_role("button", name="Save the policy").click()
        expect(page.get_by_role("textbox", name="Floor")).to_have_value("2Gi")
        page.get_by_role("link", name="Audit", exact=True).click()
        expect(page.locator("tbody tr").first).to_contain_text("policy changed")
        expect(page.locator("tbody tr").first).to_contain_text("shadow")


def asks_and_forecasts(user: BrowserUser) -> None:
    with user.page() as page:
        page.goto(f"{user.base}/ui/task?{TASK}")
        page.get_by_role("link", name="Ask what a run would get").click()
        granted = page.locator(".card", has_text="Granted").locator(".figure")
        before = granted.inner_text()
        page.get_by_label("product_count").fill("9000")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(granted).not_to_have_text(before)
        page.goto(f"{user.base}/ui/task?{TASK}")
        page.get_by_role("link", name="Run times and timeouts").click()
        expect(page.get_by_role("heading", name="Suggested timeout")).to_be_visible()
        page.get_by_role("link", name="Forecast", exact=True).click()
        page.get_by_role("link", name="pricing").click()
        expect(page.get_by_role("row", name="predict_demand")).to_be_visible()
        page.get_by_role("link", name="Campaigns", exact=True).click()
        page.get_by_role("link", name="spring").click()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()


def looks_at_phases(user: BrowserUser) -> None:
    with user.page() as page:
        page.goto(f"{user.base}/ui/phases?{TASK}")
        until = time.monotonic() + LEARNING_SECONDS
        while page.get_by_role("heading", name="Next plan").count() == 0 and time.monotonic() < until:
            page.wait_for_timeout(3_000)
            page.reload()
        expect(page.get_by_role("heading", name="Next plan")).to_be_visible()
        expect(page.get_by_text("planned limit").first).to_be_visible()
        page.get_by_role("link", name="Phases", exact=True).first.click()
        page.get_by_role("link", name="predict_demand").click()
        expect(page.get_by_role("region", name="Phases and what follows them").locator("tbody tr")).not_to_have_count(0)


def opens_a_what_if_link(user: BrowserUser) -> None:
    with user.page() as page:
        page.goto(f"{user.base}/ui/whatif?{TASK}&curve=1&risk_percent=0.5")
        wait_for_replay(page)
        expect(page.locator(".chart .wide svg")).to_be_visible()
        assert page.locator("tbody tr").count() == 10


def reads_without_a_script(user: BrowserUser) -> None:
    with user.page(java_script_enabled=False) as page:
        for path in ("/", "/tasks?sort=task", f"/task?{TASK}", "/savings?by=task", "/audit", "/whatif", *TOOLS):
            page.goto(user.base + "/ui" + path)
            expect(page.locator("h1")).to_be_visible()
        page.goto(f"{user.base}/ui/policy?{TASK}&mode=shadow")
        expect(page.get_by_role("button", name="Save the policy")).to_be_visible()


def works_by_keyboard(user: BrowserUser) -> None:
    with user.page() as page:
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "pricing/predict_demand":
                page.keyboard.press("Enter")
                expect(page.locator("h1")).to_have_text("predict_demand")
                return
        raise AssertionError("the Tab key reaches no task")


def fits_every_width(user: BrowserUser) -> None:
    report = {"dag_id": "d" * 240, "task_id": "t", "run_id": "r", "outcome": "success"}  # a filter offers the long id
    with user.page() as page:
        assert page.request.post(user.base + "/observe", data=report, headers={"Authorization": f"Bearer {user.token}"}).ok
    for width in (360,) if user.is_short else (360, 2560):
        with user.page(viewport={"width": width, "height": 800}, color_scheme="dark") as page:
            for path in ("/", "/tasks", f"/task?{TASK}", POLICY, "/savings", "/savings?by=task", "/profiles", "/audit", "/start", *TOOLS):
                page.goto(user.base + "/ui" + path)
                wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wider == 0, f"{path} is {wider} pixels wider than {width}"


def checks_accessibility(user: BrowserUser, axe: str) -> None:
    source = pathlib.Path(axe).read_text()
    for scheme in ("light", "dark"):
        with user.page(color_scheme=scheme) as page:
            is_sample = user.is_short and scheme == "dark"
            for path in (f"/task?{TASK}",) if is_sample else PAGES:
                page.goto(user.base + "/ui" + path)
                wait_for_replay(page)
                page.evaluate(source)
                only = "{}" if scheme == "light" else "{runOnly: ['color-contrast']}"  # colours affect no other rule
                found = page.evaluate(f"axe.run({only}).then({SERIOUS})")
                user.problems += [f"{scheme} {path}: {violation}" for violation in found]


def makes_pictures(user: BrowserUser, folder: str, killed: dict) -> None:
    """Make the pictures of docs/dashboard.md."""
    try_page = "/try?" + urlencode(killed | {"try_number": 1})
    for name, path, width, height in (("overview", "/", 1200, 740), ("try", try_page, 1000, 540)):
        with user.page(viewport={"width": width, "height": height}) as page:
            page.goto(user.base + "/ui" + path)
            page.screenshot(path=f"{folder}/dashboard-{name}.png")


def main(base: str, token: str, chromium: str, axe: str, mode_or_folder: str = "") -> None:
    killed = [key for key in fill(base, token) if key["task_id"] == "predict_demand"]
    assert killed, "no try of predict_demand was killed"
    expect.set_options(timeout=60_000)  # enough on a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        user = BrowserUser(browser, base, token, is_short=mode_or_folder == "short")
        if mode_or_folder not in ("", "short"):
            makes_pictures(user, mode_or_folder, killed[0])
            return
        scenarios = [signs_in, sorts_and_filters, looks_at_a_killed_try, opens_a_what_if_link, asks_and_forecasts]
        if not user.is_short:  # this scenario may wait for LEARNING_SECONDS
            scenarios.append(looks_at_phases)
        scenarios += [reads_without_a_script, works_by_keyboard, fits_every_width, changes_a_policy]
        for scenario in scenarios:
            scenario(user)
            print(re.sub("_", " ", scenario.__name__))
        checks_accessibility(user, axe)
        assert not user.problems, "\n".join(user.problems)
        print(f"{len(scenarios) + 1} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
