"""Prints the packages of kdi with their modules, highest layer first, as ARCHITECTURE.md shows them.

python tests/helpers/package_tree.py
"""

import textwrap
import tomllib

from paths import ROOT

SOURCES = ROOT / "src" / "kdi"
WIDTH, INDENT = 110, 18


def packages():
    """Packages in the order of the layers of import-linter, each with the names of its modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    found = {}
    for name in (name.strip() for layer in layers for name in layer.split("|")):
        folder = SOURCES / name
        found[name] = modules(folder) if folder.is_dir() else None
    return found


def modules(folder):
    entries = [path for path in folder.iterdir() if path.name not in ("__pycache__", "__init__.py")]
    names = [
        path.stem if path.suffix == ".py" else f"{path.name}/"
        for path in entries
        if not path.suffix or path.suffix == ".py"
    ]
    return sorted(names, key=lambda name: name.lstrip("_"))


def tree():
    lines = ["src/kdi/"]
    for name, inside in packages().items():
        label = f"  {name}/" if inside is not None else f"  {name}.py"
        text = "  ".join(inside or [])
        wrapped = textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False) or [""]
        lines += [f"{label if k == 0 else '':{INDENT}}{part}".rstrip() for k, part in enumerate(wrapped)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(tree())
