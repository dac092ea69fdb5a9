"""Formulas as MathML, which browsers draw and screen readers read without scripts.

docutils, which Sphinx depends on, converts them when the site is built. `_static/kdi.css` sets their fonts.
"""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)


def to_mathml(node: Any, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        LOGGER.warning("no MathML for %r: %s", node.astext(), error, location=node)
        return ""


def inline(self: Any, node: Any) -> None:
    self.body.append(to_mathml(node, as_block=False))
    raise SkipNode


def display(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{to_mathml(node, as_block=True)}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
