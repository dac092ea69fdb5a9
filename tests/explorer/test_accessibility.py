"""Accessibility of the page: hostile names, keyboard, screen readers, dark mode, small windows, paper, notebooks."""

import base64
import re

import numpy as np
import pandas as pd
import pytest
from explorer_driver import check_card, element, press, text

import kdi

HOSTILE = [
    "<script>window.hit = 1</script>",
    "</script><img src=x onerror='window.hit = 1'>",
    "--><svg onload=window.hit=1>",
    "quotes \" ' ` and \\ back",
    "a line\nand another\r\n\tindented",
    "{{script}} {{data}} $& $1",
    "x" * 300,
    " ",
    "漢字 ü 🙂",
    "\u2028 \x00 \x1b[31m",
]


def hostile_table(rng):
    return pd.DataFrame(rng.lognormal(size=(40, len(HOSTILE))), columns=HOSTILE)


def test_names_are_text_wherever_they_stand(browser, rng):
    table = hostile_table(rng).assign(**{"<b>left out</b>": "text"})
    title = "</title><script>window.hit = 1</script>"
    with browser.page(kdi.explore(table, title=title).html) as driver:
        assert driver.title == title
        assert text(browser, "h1") == title
        headings = browser.run("return kdiPage.cards.map((card) => card.heading.textContent)")
        assert headings == [name if name.strip() else "(no name)" for name in HOSTILE]
        browser.run("for (const card of kdiPage.cards) card.draw(); kdiPage.choose(3)")
        for place in range(len(HOSTILE)):
            browser.run("kdiPage.correlations.choose(arguments[0], (arguments[0] + 1) % kdiPage.cards.length)", place)
            browser.run("kdiPage.correlations.pointAt([arguments[0], 0], true)", place)
        assert "<b>left out</b>" in text(browser, "#left-out")
        assert browser.run("return window.hit === undefined")
        assert browser.run("return document.querySelectorAll('img, b b, main script, svg svg').length") == 0
        assert browser.run("return document.scripts.length") == 2
        browser.run("kdiPage.cards[0].choose(20); kdiPage.alphaChanged()")
        code = {}
        exec(text(browser, "#code"), code)
        assert set(code["transformer"].alpha) == set(HOSTILE)  # every name as it is, as a string of Python


def test_long_names_leave_the_page_as_wide_as_the_window(browser, rng):
    page = kdi.explore(hostile_table(rng), title="w" * 400).html
    with browser.page(page):
        browser.run("for (const card of kdiPage.cards) card.draw()")
        assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(
    "column",
    [
        [5.0],
        [1.0, 2.0],
        [3.0] * 10,
        [0.0, 1e-310, 3e-310],
        [-1.5e307, 0.0, 1e306],
        [1e9, 1e9 + 1, 1e9 + 5, 1e9 + 6],
        [np.nan, 2.0, np.nan, 7.0, 7.5],
        [True, False, True],
    ],
    ids=["one", "two", "constant", "subnormal", "huge", "offset", "missing", "boolean"],
)
def test_odd_columns_have_a_right_card(browser, column):
    table = pd.DataFrame({"odd": column, "missing": np.full(len(column), np.nan)})
    page = kdi.explore(table)
    with browser.page(page.html):
        assert "No values." in text(browser, ".card", page.features.index("missing"))
        if np.nanmax(column) > np.nanmin(column):
            known = table["odd"].dropna().astype(float)
            for key in ("HOME", "END", "ARROW_LEFT", "PAGE_DOWN"):
                press(browser, "#alpha", key)
                if np.ptp(known) > 1e-300:
                    check_card(browser, 0, known)
        else:
            assert "Only one distinct value" in text(browser, ".card")


def test_every_control_has_a_name(browser, california):
    with browser.page(california):
        nameless = browser.run(
            "return [...document.querySelectorAll('input, select, button, [tabindex]')].filter((one) => "
            "!(one.labels?.length || one.textContent.trim() || one.ariaLabel)).map((one) => one.outerHTML)"
        )
        assert nameless == []
        unsaid = browser.run(
            "return [...document.querySelectorAll('svg')].filter((one) => !one.getAttribute('role') || "
            "!one.getAttribute('aria-label')).length"
        )
        assert unsaid == 0
        ids = browser.run("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(ids) == len(set(ids))
        levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert max(np.diff(levels)) == 1
        assert browser.run("return document.documentElement.lang") == "en"


def test_the_keyboard_reaches_everything(browser, california):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    with browser.page(california) as driver:
        reached = []
        for _ in range(80):
            ActionChains(driver).send_keys(Keys.TAB).perform()
            focus = browser.run(
                "const one = document.activeElement; "
                "return [one.id || one.getAttribute('class') || one.textContent, getComputedStyle(one).outlineStyle]"
            )
            if browser.run("return document.activeElement === document.body"):
                break
            assert focus[1] != "none", focus[0]  # one sees where one is
            reached.append(focus[0])
        for wanted in (
            "alpha",
            "whole-range",
            "filter",
            "alpha-0",
            "probe-0",
            "alpha-8",
            "heat-map",
            "against",
            "first-column",
        ):
            assert wanted in reached, wanted


def test_what_the_slider_does_is_said(browser, california):
    with browser.page(california):
        assert element(browser, "#announcement").get_attribute("role") == "status"
        press(browser, "#alpha-0", "HOME")
        browser.wait_for(
            "return document.getElementById('announcement').textContent.startsWith('MedInc: The middle 90%')"
        )
        assert "fill 90% of the range" in text(browser, "#announcement")
        assert element(browser, "#alpha-0").get_attribute("aria-valuetext") == "0, the quantile transform"
        press(browser, "#alpha", "END")
        browser.wait_for("return document.getElementById('announcement').textContent === 'alpha ∞, min-max scaling'")
        assert "curve from x to T(x) at alpha ∞" in element(browser, ".card .chart").get_attribute("aria-label")


def test_cells_of_a_map_can_be_read(browser, california):
    with browser.page(california):
        for r in np.linspace(-1, 1, 41):
            colour, bright = browser.run("const c = correlationColour(arguments[0]); return [c, isBright(c)]", float(r))
            ink = luminance([0x22] * 3) if bright else 1.0
            both = sorted([ink + 0.05, luminance(colour) + 0.05])
            assert both[1] / both[0] >= 3.9, r
        assert element(browser, ".legend").is_displayed()


def luminance(colour):
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in np.array(colour) / 255
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(browser, ink, paper):
    """Contrast of two colours of the style, as WCAG defines it."""
    both = []
    for name in (ink, paper):
        colour = browser.run(
            "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()", name
        )
        both.append(luminance([int(colour[k : k + 2], 16) for k in (1, 3, 5)]))
    return (max(both) + 0.05) / (min(both) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser, california, scheme):
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    try:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
        with browser.page(california):
            paper = browser.run("return getComputedStyle(document.body).backgroundColor")
            bright = np.mean([int(part) for part in re.findall(r"\d+", paper)[:3]])
            assert bright > 200 if scheme == "light" else bright < 60
            for ink in ("--ink", "--soft", "--blue", "--orange", "--grey", "--red"):
                for behind in ("--paper", "--card"):
                    assert contrast(browser, ink, behind) >= 4.5, (ink, behind)
            for lines in ("--bars", "--blue-soft"):
                assert contrast(browser, lines, "--card") >= 2
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [360, 700, 1900])
def test_windows_of_any_width(browser, california, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        with browser.page(california):
            assert browser.run("return document.documentElement.scrollWidth") <= width
            chart = browser.run("return document.querySelector('.card .chart').getBoundingClientRect().width")
            assert min(width, 420) * 0.75 < chart <= 640
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_paper_has_every_feature(browser, california):
    with browser.page(california) as driver:
        assert browser.run("return kdiPage.cards.some((card) => !card.isBuilt)")
        pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        assert pdf.startswith(b"%PDF")
        assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8
        assert browser.run("return kdiPage.cards.every((card) => card.curve)")
        assert browser.run("return performance.getEntriesByName('kdi-redraw-start').length") == 0
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        hidden = browser.run(
            "return ['nav', '#presets', '.probe'].map((one) => getComputedStyle(document.querySelector(one)).display)"
        )
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert hidden == ["none"] * 3


def test_in_a_notebook(browser):
    page = kdi.explore(np.arange(20.0).reshape(10, 2), title='Quotes " and <tags>')
    html = f"<!doctype html><html><body>{page._repr_html_()}</body></html>"
    with browser.page(html, ready="return document.querySelector('iframe') !== null") as driver:
        driver.switch_to.frame(element(browser, "iframe"))
        browser.wait_for("return performance.getEntriesByName('kdi-ready').length > 0")
        assert text(browser, "h1") == 'Quotes " and <tags>'
        assert browser.run("return kdiPage.cards.length") == 2
        element(browser, "nav a", 1).click()  # a plain link would lead to the notebook
        assert browser.run("return document.activeElement.id") == "correlations"
        assert text(browser, "h1") == 'Quotes " and <tags>'
        driver.switch_to.default_content()


def test_without_scripts_or_with_a_damaged_file_the_page_says_so(browser):
    html = kdi.explore(np.arange(20.0).reshape(10, 2)).html
    assert "<noscript><p>This page needs JavaScript" in html
    data = re.search(r'type="text/plain">([^<]+)<', html)[1]
    damaged = html.replace(data, base64.b64encode(b"no gzip").decode())
    ready = "return document.getElementById('summary').textContent !== 'Loading …'"
    with pytest.raises(AssertionError, match="console has errors"), browser.page(damaged, ready):
        assert text(browser, "#summary").startswith("This page cannot be shown")


def test_other_scripts_do_not_run(browser):
    html = kdi.explore(np.arange(20.0).reshape(10, 2)).html
    injected = html.replace("</main>", "<script>window.hit = 1</script><img src=x onerror='window.hit = 2'></main>")
    with pytest.raises(AssertionError, match="Content Security Policy"), browser.page(injected):
        assert browser.run("return window.hit === undefined")
