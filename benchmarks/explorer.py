"""The explorer: how long it takes to make a page, how large it is, and how long a browser takes to open and redraw it.

The browser is headless Chromium. The page itself marks when it is ready, and measures its redraws.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import kdi
from benchmarks.answers import require
from benchmarks.data import lognormal_table, shape_name
from benchmarks.report import Table, Target, number
from benchmarks.rounds import summary, timed

SHAPES, QUICK_SHAPES = [(1_000_000, 10), (100_000, 50)], [(100_000, 10), (10_000, 50)]
CALIFORNIA = "California, 20,640×9"
PAGES, QUICK_PAGES = 5, 2  # made and opened per table
MOVES = 30  # of the slider
OPENED, REDRAWN = 1000, 100  # targets, milliseconds: people perceive a tenth of a second as immediate
TOLERANCE = 1e-6

OPTIONS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--window-size=1280,1000",
]
READY = "return performance.getEntriesByName('kdi-ready').map((mark) => mark.startTime)[0] ?? null"
REDRAW = """
const [step, done] = arguments;
const slider = document.getElementById("alpha");
slider.value = step;
slider.dispatchEvent(new Event("input"));
requestAnimationFrame(() => requestAnimationFrame(() => done(performance.getEntriesByName("kdi-redraw")[0].duration)));
"""
LEVELS = """
const cells = new Cells(kdiPage.contents.features[0]);
const curve = makeCurve(cells, 1, kdiPage.kernel);
return arguments[0].map((x) => levelAt(cells, curve, x));
"""


def measure(quick: bool) -> dict[str, Any]:
    tables = {CALIFORNIA: california()} | {
        shape_name(*shape): lognormal_table(*shape) for shape in (QUICK_SHAPES if quick else SHAPES)
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as driver:
        for name, table in tables.items():
            print(f"explorer: {name}", flush=True)
            found[name] = measure_table(table, driver, Path(folder), QUICK_PAGES if quick else PAGES)
    return found


def california() -> Any:
    return np.loadtxt(kdi.data.california_housing(), delimiter=",", skiprows=1)


def measure_table(table: Any, driver: Any, folder: Path, times: int) -> dict[str, Any]:
    made = [timed(kdi.explore, table) for _ in range(times)]
    page = made[-1][1]
    figures: dict[str, Any] = {"features": table.shape[1], "made": summary([seconds for seconds, _ in made])}
    figures["megabytes"] = len(page.html.encode()) / 1e6
    if driver is None:
        return figures
    path = Path(page.save(folder / "page.html"))
    opened = [open_page(driver, path) for _ in range(times)]
    check(driver, table[:, 0])
    steps = np.linspace(driver.execute_script("return kdiPage.alphas.length - 1"), 0, MOVES, dtype=int)
    redrawn = [driver.execute_async_script(REDRAW, step) for step in steps.tolist()]
    return figures | {"opened": opened, "redrawn": redrawn}


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """Start Chromium; yield None where it, chromedriver or selenium is not installed."""
    binary, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    try:
        from selenium.webdriver import Chrome, ChromeOptions, ChromeService
    except ImportError:
        binary = None
    if binary is None or driver is None:
        print("explorer: selenium, Chromium or chromedriver is not installed; pages are not opened", flush=True)
        yield None
        return
    options = ChromeOptions()
    options.binary_location = binary
    for option in [*OPTIONS, f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(option)
    started = Chrome(options=options, service=ChromeService(executable_path=driver))
    try:
        yield started
    finally:
        started.quit()


def open_page(driver: Any, path: Path) -> float:
    """Return the milliseconds from the start of the navigation until everything visible is drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get("about:blank")
    driver.get(path.as_uri())
    return float(WebDriverWait(driver, 60, 0.01).until(lambda page: page.execute_script(READY)))


def check(driver: Any, column: Any) -> None:
    """Raise AssertionError unless the page computes the same T as Python."""
    at = np.quantile(column, np.linspace(0, 1, 200))
    exact = kdi.KDITransformer().fit(column[:, None]).transform(at[:, None])[:, 0]
    error = abs(np.array(driver.execute_script(LEVELS, at.tolist())) - exact).max()
    require("the page's T against KDITransformer", float(error), TOLERANCE)


def tables(results: dict[str, Any]) -> list[Table]:
    rows = []
    for name, figures in results.items():
        opened, redrawn = figures.get("opened", []), figures.get("redrawn", [])
        cells = [figures["made"]["min"], figures["made"]["median"], figures["megabytes"]]
        cells += [f(ms) if ms else None for ms in (opened, redrawn) for f in (median, max)]
        rows.append([name, *map(number, cells)])
    header = ["", "made", "median", "MB", "opened, median", "slowest", "redrawn, median", "slowest"]
    note = f"The slider for all features moves from end to end in {MOVES} steps; plots near the window are redrawn."
    return [Table("The explorer, milliseconds", header, rows, note)]


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    for name, figures in results.items():
        if "opened" not in figures:
            continue
        for asked, times, most in (("opens", figures["opened"], OPENED), ("redraws", figures["redrawn"], REDRAWN)):
            middle = median(times)
            text = f"the explorer's page of {name} {asked} in at most {most:,} ms"
            found.append(Target(text, f"{number(middle)} ms", middle <= most))
    return found
