"""The correlation view of the explorer's page in a real browser: heat maps, disagreements, density scatter."""

import numpy as np
import pandas as pd
import pytest
from explorer_driver import element, press, settled, text

import kdi


def cell_of(browser, place, row, column):
    """Where a cell of a heat map lies, from the middle of the map, in pixels of the screen."""
    return browser.run(
        "const map = Object.values(kdiPage.correlations.maps)[arguments[0]];"
        "const box = map.svg.getBoundingClientRect();"
        "const scale = box.width / map.width;"
        "const at = (k) => (map.margin + (k + 0.5) * map.cell) * scale;"
        "return [at(arguments[2]) - box.width / 2, at(arguments[1]) - box.height / 2]",
        place,
        row,
        column,
    )


def click_cell(browser, place, row, column):
    from selenium.webdriver import ActionChains

    browser.run("for (const card of kdiPage.cards) card.draw()")  # so that none grows above the maps meanwhile
    svg = element(browser, ".heat-map", place)
    browser.run("arguments[0].scrollIntoView({ block: 'center' })", svg)
    x, y = cell_of(browser, place, row, column)
    ActionChains(browser.driver).move_to_element_with_offset(svg, round(x), round(y)).click().perform()
    settled(browser)


def listed(browser):
    rows = browser.run(
        "return [...document.querySelectorAll('#disagreements tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return [[row[0], *(float(one.replace("−", "-")) for one in row[1:])] for row in rows]


def test_maps_show_the_three_matrices(browser, housing, california):
    expected = [housing.corr(), housing.corr("spearman"), kdi.corr(housing)]
    with browser.page(california):
        assert [text(browser, "figcaption", k) for k in range(3)] == [
            "Pearson computed in Python",
            "Spearman computed in Python",
            "KD-integral, alpha = 1 computed in Python",
        ]
        for place, matrix in enumerate(expected):
            written = browser.run(
                "return [...document.querySelectorAll('.heat-map')[arguments[0]].querySelectorAll('.written text')]"
                ".map((one) => one.textContent)",
                place,
            )
            found = np.array([float(one.replace("−", "-")) for one in written]).reshape(9, 9)
            np.testing.assert_allclose(found, matrix, atol=0.00501)


def test_colours_go_from_blue_to_red(browser, california):
    with browser.page(california):
        colours = browser.run("return [-1, 0, 1, null].map(correlationColour)")
        assert colours[0][2] > 2 * colours[0][0]
        assert min(colours[1]) > 240
        assert colours[2][0] > 2 * colours[2][2]
        assert len(set(colours[3])) == 1


@pytest.mark.parametrize("against", ["pearson", "spearman"])
def test_top_disagreements_are_those_of_compare_correlations(browser, housing, california, against):
    from selenium.webdriver.support.ui import Select

    found = kdi.compare_correlations(housing, against=against)
    with browser.page(california):
        Select(element(browser, "#against")).select_by_value(against)
        rows = listed(browser)
        assert [row[0] for row in rows] == [f"{one.first} and {one.second}" for one in found.head(10).itertuples()]
        expected = found.head(10)[["pearson", "spearman", "kdi"]]
        np.testing.assert_allclose([row[1:] for row in rows], expected, atol=0.00501)


def test_another_alpha_of_the_matrix(browser, housing, california):
    from selenium.webdriver.support.ui import Select

    expected = kdi.compare_correlations(housing, alpha=0.3).head(10)
    with browser.page(california):
        Select(element(browser, "#matrix-alpha")).select_by_visible_text("0.3")
        assert text(browser, "figcaption b", 2) == "KD-integral, alpha = 0.3"
        np.testing.assert_allclose([row[3] for row in listed(browser)], expected["kdi"], atol=0.00501)


def shades(browser):
    """Shades of the scatter that is drawn, by row from below and column."""
    found = np.zeros((40, 40))
    paths = browser.run(
        "return [...document.querySelectorAll('#pair .density')].map((path) => "
        "[path.getAttribute('d'), path.getAttribute('fill-opacity')])"
    )
    for path, opacity in paths:
        for bin_ in path.split("M")[1:]:
            x, y = map(float, bin_.split("h")[0].split())
            found[round((308 - y) / 7.5), round((x - 62) / 7.5)] = opacity
    return found


def test_a_click_on_a_pair_opens_its_density_scatter(browser, housing, california):
    names = [*housing]
    with browser.page(california):
        assert text(browser, "#pair h3") == "AveRooms and AveBedrms"  # that on which they disagree most
        for place, (row, column) in enumerate([(0, 2), (7, 6), (8, 0)]):
            click_cell(browser, place, row, column)
            first, second = names[row], names[column]
            assert text(browser, "#pair h3") == f"{first} and {second}"
            r = [housing[[first, second]].corr().iloc[0, 1], housing[[first, second]].corr("spearman").iloc[0, 1]]
            assert f"Pearson {r[0]:.2f}, Spearman {r[1]:.2f}".replace("-", "−") in text(browser, "#pair p")
            levels = np.linspace(0, 1, 41)[:, None]
            edges = [
                kdi.KDITransformer().fit(housing[[name]].to_numpy()).inverse_transform(levels)[:, 0]
                for name in (first, second)
            ]
            places = [
                np.clip(np.searchsorted(one, housing[name], side="right") - 1, 0, 39)
                for one, name in zip(edges, (first, second), strict=True)
            ]
            counts = np.zeros((40, 40))
            np.add.at(counts, tuple(places), 1)
            drawn = shades(browser)
            # A value on an edge may lie on either side of it, by the last bit of the edge.
            assert ((drawn > 0) == (counts > 0)).mean() > 0.995
            np.testing.assert_allclose(
                drawn[counts > 0], 0.12 + 0.88 * np.log1p(counts[counts > 0]) / np.log1p(counts.max()), atol=0.15
            )
            assert np.corrcoef(drawn[counts > 0], np.log1p(counts[counts > 0]))[0, 1] > 0.99
        assert element(browser, "#first-column").get_attribute("value") == "8"


def test_maps_by_keyboard(browser, california):
    with browser.page(california):
        press(browser, ".heat-map", "ARROW_UP", "ARROW_UP", "ARROW_RIGHT", "ARROW_RIGHT")
        assert text(browser, "#pointed").startswith("MedInc and AveOccup: Pearson 0.02, Spearman −0.04, KD-integral")
        browser.wait_for("return document.getElementById('announcement').textContent.startsWith('MedInc and AveOccup')")
        assert text(browser, "#pair h3") == "AveRooms and AveBedrms"
        press(browser, ".heat-map", "ENTER")
        assert text(browser, "#pair h3") == "MedInc and AveOccup"
        press(browser, "#disagreements button", "ENTER", place=1)
        assert text(browser, "#pair h3") == "MedInc and AveRooms"


def test_pairs_by_name(browser, california):
    from selenium.webdriver.support.ui import Select

    with browser.page(california):
        Select(element(browser, "#first-column")).select_by_visible_text("Latitude")
        Select(element(browser, "#second-column")).select_by_visible_text("Longitude")
        assert text(browser, "#pair h3") == "Latitude and Longitude"
        Select(element(browser, "#second-column")).select_by_visible_text("Latitude")
        assert "two different columns" in text(browser, "#pair")


def test_missing_values_leave_correlations_of_the_rows_that_both_have(browser, rng):
    table = pd.DataFrame(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), columns=[*"abc"])
    table.loc[::3, "a"] = np.nan
    table["constant"] = 1.0
    with browser.page(kdi.explore(table).html):
        found = kdi.compare_correlations(table[["a", "b", "c"]])
        np.testing.assert_allclose(
            [row[1:] for row in listed(browser)], found[["pearson", "spearman", "kdi"]], atol=0.00501
        )


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pd.DataFrame({"alone": [1.0, 2.0, 4.0]}), "two columns"),
        (pd.DataFrame({"one": [1.0, 2.0, 4.0], "constant": [3.0, 3.0, 3.0]}), "two columns"),
    ],
)
def test_why_there_are_no_correlations(browser, table, reason):
    with browser.page(kdi.explore(table).html):
        assert reason in text(browser, "#no-correlations")
        assert not element(browser, "#with-correlations").is_displayed()


def test_ticks_of_large_numbers_are_short(browser, rng):
    table = pd.DataFrame({"large": rng.lognormal(18, 1, size=200), "small": rng.lognormal(-18, 1, size=200)})
    with browser.page(kdi.explore(table).html):
        boxes = browser.run(
            "const svg = document.querySelector('.scatter').getBoundingClientRect();"
            "const ticks = [...document.querySelectorAll('.scatter .tick')];"
            "return ticks.map((one) => one.getBoundingClientRect().left - svg.left)"
        )
        assert min(boxes) > 14  # beside the name, and not over it


def test_many_columns_have_maps_without_names(browser, rng):
    table = rng.normal(size=(50, 60))
    with browser.page(kdi.explore(table).html):
        assert browser.run("return document.querySelectorAll('.heat-map text').length") == 0
        click_cell(browser, 0, 0, 59)
        assert text(browser, "#pair h3") == "x0 and x59"
