"""The browser fixture itself notices errors and requests of pages."""

import pytest

LOADED = "return document.readyState === 'complete'"


def test_a_quiet_page_passes(browser):
    with browser.page("<!doctype html><title>Quiet</title><p>text", LOADED) as driver:
        assert driver.title == "Quiet"


@pytest.mark.parametrize(
    "html",
    [
        "<script>console.error('said')</script>",
        "<script>nothing.at.all()</script>",
        "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><script>let x</script>",
    ],
)
def test_errors_are_noticed(browser, html):
    with pytest.raises(AssertionError, match="the console has errors"), browser.page(html, LOADED):
        pass


def test_requests_are_noticed(browser, tmp_path):
    other = tmp_path / "other.html"
    other.write_text("<p>another file")
    html = f'<iframe src="{other.as_uri()}"></iframe>'
    with pytest.raises(AssertionError, match="more than itself"), browser.page(html, LOADED):
        pass
