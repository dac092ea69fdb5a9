"""docs/tuning.md says of the code what the code does, and the README leads there."""

import inspect
import re

from pages import blocks, read

import kdi
from kdi._tuning.transformer_cv import ESTIMATOR_FOLDS

PAGE = read("docs/tuning.md")
README = read("README.md")


def test_the_readme_leads_there():
    assert "(docs/tuning.md)" in README
    assert "(docs/images/tuning.png)" in README


def test_code_of_the_readme_names_what_there_is():
    (block,) = [block for block in blocks(README, "python") if "KDITransformerCV" in block]
    for name in re.findall(r"kdi\.(\w+)", block):
        assert hasattr(kdi, name), name


def test_parameters_are_as_said():
    signature = inspect.signature(kdi.KDITransformerCV).parameters
    for name in re.findall(r"`(\w+)=", PAGE):
        assert name in signature or name in inspect.signature(kdi.AlphaDisplay.plot).parameters, name
    for name in ("alphas", "ridge", "cv", "scoring", "max_passes"):
        assert f"`{name}`" in PAGE
        assert name in signature
    assert (len(kdi.ALPHAS), kdi.ALPHAS[0], kdi.ALPHAS[-1]) == (20, 0.05, 10)
    assert "20 from 0.05 to 10" in PAGE
    fits = len(kdi.ALPHAS) * ESTIMATOR_FOLDS * (1 + 8 * signature["max_passes"].default)
    assert f"8 features some {fits:,}" in " ".join(PAGE.split())
