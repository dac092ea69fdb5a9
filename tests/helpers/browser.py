"""A real browser for the tests of pages: headless Chromium, started once for all of them.

A page is opened from a file. When a test leaves it, its console must have no errors, and the page must have requested
nothing besides itself.
"""

import json
import shutil
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from engines import missing

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,1000",
]
SECONDS = 60  # after which a test fails; a machine may be busy


def start_browser(folder):
    """Start a browser whose profile and pages are in a folder; skip the tests if there is none."""
    try:
        from selenium.webdriver import Chrome, ChromeOptions, ChromeService
    except ImportError:
        missing("selenium is not installed")
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        missing(f"there is no {'chromedriver' if binary else 'Chromium'} on the PATH")
    options = ChromeOptions()
    options.binary_location = binary
    for option in [*OPTIONS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Browser(Chrome(options=options, service=ChromeService(executable_path=driver)), folder)


class Browser:
    """Chromium, driven by selenium, which is `driver`."""

    def __init__(self, driver, folder):
        self.driver, self.folder, self._numbers = driver, Path(folder), count()
        driver.set_script_timeout(SECONDS)
        driver.set_page_load_timeout(SECONDS)

    @contextmanager
    def page(self, page, ready="return performance.getEntriesByName('kdi-ready').length > 0"):
        """Open the path of a page, or a document as text, and wait until the script `ready` returns true."""
        path = page if isinstance(page, Path) else self._write(page)
        self._clear_logs()
        self.driver.get(path.as_uri())
        try:
            self.wait_for(ready)
            yield self.driver
        finally:
            complaints, requests = self.complaints(), self.requests()
            self.driver.get("about:blank")  # so that the next page starts without traces of this one
        assert not complaints, f"the console has errors: {complaints}"
        assert requests == [path.as_uri()], f"the page requested more than itself: {requests}"

    def wait_for(self, condition, *arguments):
        """Wait until a script returns a true value, and return that value."""
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            return WebDriverWait(self.driver, SECONDS, 0.02).until(
                lambda driver: driver.execute_script(condition, *arguments)
            )
        except Exception as error:
            raise AssertionError(f"never true: {condition}; errors in the console: {self.complaints()}") from error

    def run(self, script, *arguments):
        """Run a script in the open page and return its result."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self):
        """Return errors of scripts and of the content security policy since the last call."""
        entries = self.driver.get_log("browser")
        return [one["message"] for one in entries if one["level"] == "SEVERE" or "Content Security" in one["message"]]

    def requests(self):
        """Return the addresses requested since the last call, without those that need no network."""
        messages = [json.loads(one["message"])["message"] for one in self.driver.get_log("performance")]
        sent = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("data:", "blob:", "about:", "chrome:"))]

    def _write(self, html):
        path = self.folder / f"page-{next(self._numbers)}.html"
        path.write_text(html, encoding="utf-8", newline="\n")
        return path

    def _clear_logs(self):
        self.complaints()
        self.requests()

    def stop(self):
        self.driver.quit()
