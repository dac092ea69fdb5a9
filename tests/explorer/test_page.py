"""The explorer's page in a real browser, used as a person would use it: what it draws is compared with Python's."""

import re

import numpy as np
import pandas as pd
import pytest
from explorer_driver import LEVELS, alpha_of, check_card, element, press, settled, text
from paths import ROOT

import kdi

SCREENSHOTS = ROOT / "out" / "screenshots"


def test_opens_as_a_report(browser, housing, california):
    with browser.page(california) as driver:
        assert driver.title == "California housing"
        assert text(browser, "#summary") == f"20,640 rows · 9 features · kdi {kdi.__version__}"
        assert browser.run("return [...document.querySelectorAll('.card h3')].map((one) => one.textContent)") == [
            *housing
        ]
        assert alpha_of(browser, 0) == 1
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        assert driver.save_screenshot(str(SCREENSHOTS / "explorer.png"))


@pytest.mark.parametrize("name", ["MedInc", "HouseAge", "AveOccup", "Latitude"])
def test_the_slider_by_keyboard_redraws_every_feature(browser, housing, california, name):
    card = [*housing].index(name)
    with browser.page(california):
        browser.run("document.getElementById(`feature-${arguments[0]}`).scrollIntoView()", card)
        browser.wait_for("return Boolean(kdiPage.cards[arguments[0]].curve)", card)
        seen = []
        for keys in (["ARROW_LEFT"] * 7, ["PAGE_DOWN"] * 2, ["HOME"], ["ARROW_RIGHT"], ["END"], ["ARROW_LEFT"] * 3):
            press(browser, "#alpha", *keys)
            check_card(browser, card, housing[name])
            seen.append(alpha_of(browser, card))
            assert text(browser, "#alpha-output") == text(browser, f"output[for=alpha-{card}]")
            assert element(browser, "#alpha").get_attribute("aria-valuetext") == text(browser, "#alpha-output")
        assert seen[2:5] == [0, 0.05, np.inf]
        assert seen == sorted(set(seen), key=seen.index)


def test_the_slider_of_a_feature_by_mouse_changes_that_feature_alone(browser, housing, california):
    from selenium.webdriver import ActionChains

    with browser.page(california) as driver:
        slider = element(browser, "#alpha-1")
        driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", slider)
        ActionChains(driver).move_to_element(slider).click_and_hold().move_by_offset(-60, 0).release().perform()
        settled(browser)
        moved = alpha_of(browser, 1)
        assert 0.05 <= moved < 0.6
        check_card(browser, 1, housing["HouseAge"])
        assert alpha_of(browser, 0) == alpha_of(browser, 2) == 1
        assert text(browser, "#alpha-output") == "several"
        code = {}
        exec(text(browser, "#code"), code)
        fitted = code["transformer"].fit(housing)
        np.testing.assert_allclose(fitted.alpha_, np.where(housing.columns == "HouseAge", moved, 1.0))


def test_alphas_of_an_array_are_a_list(browser, rng):
    table = rng.normal(size=(30, 3))
    with browser.page(kdi.explore(table).html):
        press(browser, "#alpha-1", "HOME")
        code = {}
        exec(text(browser, "#code"), code)
        assert code["transformer"].fit(table).alpha_.tolist() == [1, 0, 1]


def test_presets_set_all_features(browser, california):
    with browser.page(california):
        for place, (name, alpha) in enumerate(
            [("0 quantile", 0), ("0.1", 0.1), ("0.3", 0.3), ("1", 1), ("3", 3), ("∞ min-max", np.inf)]
        ):
            assert text(browser, "#presets button", place) == name
            element(browser, "#presets button", place).click()
            settled(browser)
            assert alpha_of(browser, 0) == alpha
            code = {}
            exec(text(browser, "#code"), code)
            assert code["transformer"].alpha == alpha_of(browser, 8)


def bars_of(browser, card, which):
    """Heights of the bars of a histogram in pixels, in the order in which they are drawn."""
    path = browser.run(
        "return kdiPage.cards[arguments[0]].element.querySelector(arguments[1]).getAttribute('d')", card, f".{which}"
    )
    if which == "before":
        return np.array([float(base) - float(top) for base, top in re.findall(r"M\S+ ([\d.]+)V([\d.]+)H", path)])
    return np.array([float(top) - float(base) for base, top in re.findall(r"M([\d.]+) [\d.]+H([\d.]+)V", path)])


def test_histograms_are_those_of_the_values(browser, housing, california):
    with browser.page(california):
        values = housing["MedInc"].to_numpy()
        counts = np.histogram(values, bins=60)[0]
        bars = bars_of(browser, 0, "before")
        np.testing.assert_allclose(bars / bars.max(), counts[counts > 0] / counts.max(), atol=2e-3)
        ages = np.unique(housing["HouseAge"], return_counts=True)[1]  # whole years, with a bar each
        bars = bars_of(browser, 1, "before")
        np.testing.assert_allclose(bars / bars.max(), ages / ages.max(), atol=2e-3)
        for alpha in (1.0, 0.1):
            browser.run("kdiPage.choose(kdiPage.alphas.indexOf(arguments[0]))", alpha)
            settled(browser)
            levels = kdi.KDITransformer(alpha_of(browser, 0)).fit_transform(values[:, None])
            counts = np.histogram(levels, bins=40, range=(0, 1))[0]
            bars = bars_of(browser, 0, "after")
            np.testing.assert_allclose(bars / bars.max(), counts[counts > 0] / counts.max(), atol=5e-3)


def test_histograms_of_more_values_than_the_page_holds(browser, rng):
    values = rng.lognormal(sigma=2, size=100_000)
    values[:20_000] = 1.0  # one of them many times
    with browser.page(kdi.explore(values[:, None]).html):
        for alpha in (0.0, 1.0, np.inf):
            browser.run(
                "kdiPage.choose(kdiPage.alphas.indexOf(Number(arguments[0])))", str(alpha).replace("inf", "Infinity")
            )
            settled(browser)
            assert alpha_of(browser, 0) == alpha
            levels = kdi.KDITransformer(alpha).fit_transform(values[:, None])
            shares = np.histogram(levels, bins=40, range=(0, 1))[0] / len(values)
            drawn = browser.run("const { cells, curve } = kdiPage.cards[0]; return [...histogramAfter(cells, curve)]")
            assert sum(drawn) == pytest.approx(1, abs=1e-6)
            np.testing.assert_allclose(np.cumsum(drawn), np.cumsum(shares), atol=1e-3)


def test_whole_numbers_have_bars_of_as_many_values_each(browser, rng):
    """Or else uniform ones would look like a comb."""
    table = pd.DataFrame({"percent": np.arange(100_000) % 101, "few": np.arange(100_000) % 5})
    with browser.page(kdi.explore(table).html):
        bars = bars_of(browser, 0, "before")
        assert len(bars) == 51  # two values each, and one alone
        np.testing.assert_allclose(bars[:-1], bars[0], rtol=2e-3)
        after = bars_of(browser, 0, "after")
        assert np.abs(np.diff(after[3:-3])).max() < 0.1 * after.max()
        assert len(bars_of(browser, 1, "before")) == len(bars_of(browser, 1, "after")) == 5


def test_ticks_stay_on_the_axis(browser):
    table = {"offset": 1e9 + np.linspace(0, 1e-4, 50), "large": 1e17 + 64 * np.arange(50.0), "plain": np.arange(50.0)}
    with browser.page(kdi.explore(pd.DataFrame(table)).html):
        for card in range(3):
            places = browser.run(
                "const { element, left, right } = kdiPage.cards[arguments[0]].chart;"
                "const ticks = [...element.querySelectorAll('.tick[text-anchor=middle]')];"
                "return [left, right, ...ticks.map((one) => Number(one.getAttribute('x')))]",
                card,
            )
            left, right, *ticks = places
            assert 1 <= len(ticks) <= 8
            assert left - 1 <= min(ticks) and max(ticks) <= right + 1


def test_the_pointer_where_values_are_far_from_zero(browser):
    from selenium.webdriver import ActionChains

    values = 1.7e9 + np.linspace(0, 1e-2, 200)
    with browser.page(kdi.explore(values[:, None]).html) as driver:
        chart = element(browser, ".card .chart")
        ActionChains(driver).move_to_element_with_offset(chart, -60, 0).perform()
        settled(browser)
        x, level = float(element(browser, "#probe-0").get_attribute("value")), float(text(browser, ".level"))
        assert 0.1 < level < 0.9
        assert level == pytest.approx(kdi.KDITransformer().fit(values[:, None]).transform([[x]])[0, 0], abs=1e-3)


def test_many_boundaries_leave_the_curve_to_be_seen(browser, rng):
    with browser.page(kdi.explore(rng.standard_cauchy(size=(200_000, 1))).html):
        assert browser.run("return kdiPage.cards[0].boundaries.length") > 30
        assert element(browser, ".boundary").get_attribute("d") == ""
        assert re.search(r"\d+ groups, separated at .* …$", text(browser, ".effect"))


def test_boundaries_are_those_of_cluster(browser, housing, california):
    with browser.page(california):
        for card, name in enumerate(["MedInc", "HouseAge", "AveRooms"]):
            found = kdi.cluster(housing[name], alpha=1)
            drawn = browser.run("return kdiPage.cards[arguments[0]].boundaries", card)
            np.testing.assert_allclose(drawn, found.boundaries, rtol=1e-4)
            said = text(browser, ".effect", card)
            assert f"{found.n_clusters} groups, separated at {found.boundaries[0]:.4g}" in said


def test_a_value_of_ones_own(browser, housing, california):
    with browser.page(california):
        element(browser, "#probe-0").clear()
        press(browser, "#probe-0", *"4.25")
        expected = kdi.KDITransformer().fit(housing[["MedInc"]]).transform(pd.DataFrame({"MedInc": [4.25]}))[0, 0]
        assert float(text(browser, ".level")) == pytest.approx(expected, abs=LEVELS)
        assert element(browser, ".cross").get_attribute("d")
        press(browser, "#probe-0", *["BACKSPACE"] * 4)
        assert text(browser, ".level") == ""


def test_the_pointer_reads_the_curve(browser, housing, california):
    from selenium.webdriver import ActionChains

    with browser.page(california) as driver:
        chart = element(browser, ".card .chart")
        ActionChains(driver).move_to_element(chart).perform()
        settled(browser)
        x = float(element(browser, "#probe-0").get_attribute("value"))
        assert housing["MedInc"].min() < x < housing["MedInc"].max()
        expected = kdi.KDITransformer().fit(housing[["MedInc"]]).transform(pd.DataFrame({"MedInc": [x]}))[0, 0]
        assert float(text(browser, ".level")) == pytest.approx(expected, abs=5e-6)  # x is written with six digits


def test_outliers_are_said_and_shown_when_asked_for(browser, housing, california):
    with browser.page(california):
        browser.run("document.getElementById('feature-2').scrollIntoView()")
        browser.wait_for("return Boolean(kdiPage.cards[2].curve)")
        assert "up to 141.9" in text(browser, ".card .figure", 2)
        ends = "const { low, high } = kdiPage.cards[2].chart; return [low, high]"
        assert browser.run(ends)[1] < 50
        element(browser, "#whole-range").click()
        settled(browser)
        assert browser.run(ends) == [0, pytest.approx(np.ptp(housing["AveRooms"]))]
        assert "up to" not in text(browser, ".card .figure", 2)
        check_card(browser, 2, housing["AveRooms"])


def test_features_are_found_by_name(browser, california):
    with browser.page(california):
        press(browser, "#filter", *"ave")
        assert text(browser, "#found") == "3 of 9"
        shown = browser.run(
            "return kdiPage.cards.filter((card) => card.element.offsetParent).map((card) => card.feature.name)"
        )
        assert shown == ["AveRooms", "AveBedrms", "AveOccup"]


def test_fifty_features_are_drawn_as_they_come_near(browser, rng):
    table = pd.DataFrame(rng.lognormal(size=(2000, 50)), columns=[f"feature {k}" for k in range(50)])
    with browser.page(kdi.explore(table).html):
        built = "return kdiPage.cards.filter((card) => card.isBuilt).length"
        assert 2 <= browser.run(built) < 30
        browser.run("document.getElementById('feature-49').scrollIntoView()")
        browser.wait_for("return Boolean(kdiPage.cards[49].curve)")
        check_card(browser, 49, table["feature 49"])
        press(browser, "#alpha", *["ARROW_LEFT"] * 5)  # those that are far away are drawn later, at the new alpha
        browser.run("document.getElementById('feature-0').scrollIntoView()")
        browser.wait_for("return kdiPage.cards[0].shown.endsWith(` ${kdiPage.step}`)")
        check_card(browser, 0, table["feature 0"])
