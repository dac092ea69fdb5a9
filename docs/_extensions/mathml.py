"""Formulas as MathML, made when the site is built: browsers draw it, and screen readers read it, without scripts.

A font with the metrics of mathematics goes with the site, since not every machine has one: STIX Two Math, from ziamath.
"""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

FONT = "STIXTwoMath-Regular.ttf"


def inline(self: Any, node: Any) -> None:
    self.body.append(convert(node.astext()))
    raise SkipNode


def display(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def copy_font(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        with as_file(files("ziamath") / "fonts" / FONT) as font:
            shutil.copy(font, Path(app.outdir) / "_static" / FONT)


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
