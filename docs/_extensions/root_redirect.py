"""Writes index.html at the root of the site, which redirects to docs/index.html: paths are those of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>kdi</title><meta http-equiv="refresh" content="0; url=docs/index.html"></head>
<body><a href="docs/index.html">kdi: the documentation</a></body>
</html>
"""


def write(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "index.html").write_text(PAGE, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
