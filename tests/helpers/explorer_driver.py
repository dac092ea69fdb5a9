"""Operates the explorer's page in a browser, and reads back what it draws."""

import re

import numpy as np

import kdi

LEVELS = 5e-7 + 1e-6  # numbers are written with six decimals, and agree to 1e-6


def element(browser, selector, place=0):
    from selenium.webdriver.common.by import By

    return browser.driver.find_elements(By.CSS_SELECTOR, selector)[place]


def press(browser, selector, *keys, place=0):
    """Focus an element and press keys: letters, or the names of selenium."""
    from selenium.webdriver.common.keys import Keys

    element(browser, selector, place).send_keys("".join(getattr(Keys, key, key) for key in keys))
    settled(browser)


def settled(browser):
    """Wait until changes are drawn."""
    browser.driver.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    )


def text(browser, selector, place=0):
    return browser.run("return document.querySelectorAll(arguments[0])[arguments[1]].textContent", selector, place)


def alpha_of(browser, card):
    return float(browser.run("return String(kdiPage.cards[arguments[0]].alpha)", card).replace("Infinity", "inf"))


def numbers_of(browser, card):
    """The table of a card: x, and T(x) at its alpha, of quantiles and of min-max."""
    browser.run("kdiPage.cards[arguments[0]].numbers.open = true", card)
    browser.wait_for("return kdiPage.cards[arguments[0]].numbers.querySelectorAll('td').length > 0", card)
    rows = browser.run(
        "return [...kdiPage.cards[arguments[0]].numbers.querySelectorAll('tbody tr')].map((row) => "
        "[...row.cells].slice(1).map((cell) => cell.dataset.x ?? cell.textContent))",
        card,
    )
    return np.array(rows, dtype=float)


def drawn_curve(browser, card):
    """The path of a card's curve as x and T(x), converted by the scales of its axes."""
    path, chart = browser.run(
        "const { chart } = kdiPage.cards[arguments[0]];"
        "const { left, right, top, bottom, low, high } = chart;"
        "return [chart.elements.curve.getAttribute('d'), [left, right, top, bottom, low, high]]",
        card,
    )
    left, right, top, bottom, low, high = chart
    places = np.array(re.findall(r"[ML](\S+) ([^ML]+)", path), dtype=float)
    x = low + (places[:, 0] - left) / (right - left) * (high - low)
    return x, (bottom - places[:, 1]) / (bottom - top)


def check_card(browser, card, values):
    """Check that a card shows the results of Python at its alpha."""
    alpha = alpha_of(browser, card)
    column = values.to_numpy()[:, None]
    transformer = kdi.KDITransformer(alpha).fit(column)
    rows = numbers_of(browser, card)
    for place, one in (
        (1, transformer),
        (2, kdi.KDITransformer(0).fit(column)),
        (3, kdi.KDITransformer(np.inf).fit(column)),
    ):
        np.testing.assert_allclose(rows[:, place], one.transform(rows[:, :1])[:, 0], atol=LEVELS, rtol=0)
    np.testing.assert_allclose(
        rows[1:-1, 0], np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf"), rtol=1e-9
    )
    offsets, levels = drawn_curve(browser, card)
    expected = transformer.transform((np.clip(offsets, 0, None) + values.min())[:, None])[:, 0]
    steepest = np.abs(np.diff(expected)).max()  # places on the screen have two decimals
    np.testing.assert_allclose(levels, expected, atol=1e-4 + 0.02 * steepest, rtol=0)
