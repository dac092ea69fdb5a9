"""Links of names in docstrings, and the members of classes that the reference shows.

A name in single backticks is a link if it is documented, and plain code otherwise (a parameter, for example). Explicit
roles (:class:, :func: …) are still checked. Methods inherited from other packages are skipped.
"""

from __future__ import annotations

from typing import Any


def unlinked_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    return contnode if node.get("reftype") == "obj" else None


def skip_foreign_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    function = getattr(obj, "fget", None) or getattr(obj, "func", None) or getattr(obj, "__func__", obj)
    owner = getattr(function, "__objclass__", None)  # of methods that are written in C, such as tuple.count
    home = getattr(function, "__module__", None) or getattr(owner, "__module__", None) or "kdi"
    return None if home.split(".")[0] == "kdi" else True


def setup(app: Any) -> dict[str, bool]:
    app.connect("missing-reference", unlinked_name)
    app.connect("autodoc-skip-member", skip_foreign_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
