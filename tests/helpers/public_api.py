"""Prints the public API: every name with its signature, the module that it says it is from, and its methods.

python tests/helpers/public_api.py > tests/public_api.txt
"""

import inspect
from importlib import import_module

PACKAGES = [
    "kdi",
    "kdi.cli",
    "kdi.compat",
    "kdi.compat.kditransform",
    "kdi.dask",
    "kdi.data",
    "kdi.explorer",
    "kdi.spark",
    "kdi.torch",
]


def api_lines(package):
    """One line per public name of a package, and one per public method or property of a class."""
    module = import_module(package)
    lines = []
    for name in sorted(module.__all__):
        one = getattr(module, name)
        if inspect.ismodule(one):
            lines.append(f"{package}.{name}: package")
            continue
        home = getattr(one, "__module__", None)
        origin = "" if home == package or not callable(one) else f" from {home}"
        lines.append(f"{package}.{name}{signature(one)}{origin}")
        if inspect.isclass(one):
            lines += [f"{package}.{name}.{member}{signature(value)}" for member, value in own_members(one)]
    return lines


def own_members(cls):
    """Public methods and properties of a class that kdi defines, in the class or in a base."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.split(".")[0] == "kdi":
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    members = {name: value for name, value in found.items() if callable(unwrapped(value)) or is_property(value)}
    return sorted(members.items())


def unwrapped(value):
    return getattr(value, "__func__", value)


def is_property(value):
    return isinstance(value, property) or hasattr(value, "func")


def signature(one):
    """Parameters with their defaults, without annotations."""
    one = unwrapped(one)
    if is_property(one) or not callable(one):
        return ""
    try:
        found = inspect.signature(one)
    except ValueError:
        return "(…)"
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    for package in PACKAGES:
        print(f"# {package}", *api_lines(package), sep="\n")
