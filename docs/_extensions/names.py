"""What of the code is shown, and what names in docstrings lead to.

A name in single backticks is a link where there is something to lead to, and plain code otherwise, such as a parameter;
explicit roles (:class:, :func: …) are still checked. Methods that a class has from other packages are not repeated.
"""

from __future__ import annotations

from typing import Any


def plain(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    return contnode if node.get("reftype") == "obj" else None


def foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    function = getattr(obj, "fget", None) or getattr(obj, "func", None) or getattr(obj, "__func__", obj)
    home = getattr(function, "__module__", None) or "kdi"
    return None if home.split(".")[0] == "kdi" else True


def setup(app: Any) -> dict[str, bool]:
    app.connect("missing-reference", plain)
    app.connect("autodoc-skip-member", foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
