"""Pythons of Spark's executors that lack packages."""

import venv
from pathlib import Path

import numpy as np


def make_bare_python(folder, *, with_engines):
    """Make a virtual environment without kdi: with all other packages of this Python, or with none."""
    venv.create(folder, symlinks=True)
    (packages,) = Path(folder).glob("lib/python3*/site-packages")
    if with_engines:
        for path in Path(np.__file__).parents[1].iterdir():
            if "kdi" not in path.name and path.suffix != ".pth":
                (packages / path.name).symlink_to(path)
    return Path(folder) / "bin" / "python"
