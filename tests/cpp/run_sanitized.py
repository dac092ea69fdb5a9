"""Run pytest with the package in a folder; the import hook of the editable install would come before every path."""

import sys

import pytest


def main(folder, *arguments):
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    import kdi._numerics._core as core

    if not core.__file__.startswith(folder) and f"/{folder}/" not in core.__file__:
        sys.exit(f"{core.__file__} is not in {folder}")
    sys.exit(pytest.main(list(arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
