"""The type stub of the compiled core, against the compiled module and its NumPy twin."""

import ast
import inspect
from pathlib import Path

import pytest

import kdi._numerics
from kdi._numerics import numpy_core

core = pytest.importorskip("kdi._numerics._core")

PUBLIC = sorted(name for name in dir(core) if not name.startswith("_"))


def read_stub():
    """The parameter names of every overload of every function, and of the constructor of every class."""
    source = (Path(kdi._numerics.__file__).parent / "_core.pyi").read_text()
    functions = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            (constructor,) = node.body
            functions[node.name] = [[argument.arg for argument in constructor.args.args[1:]]]
        if isinstance(node, ast.FunctionDef):
            assert not (node.args.posonlyargs or node.args.kwonlyargs or node.args.vararg or node.args.kwarg), node.name
            functions.setdefault(node.name, []).append([argument.arg for argument in node.args.args])
    return functions


def parameters_of(signature):
    """The parameter names in a nanobind signature; ast cannot parse its array types, as in `shape=(*, *)`."""
    pieces, depth = [""], 0
    for character in signature[signature.index("(") + 1 :]:
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            break
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.split(":")[0].strip() for piece in pieces if piece.strip()]


def overloads_in_module(name):
    function = getattr(core, name)
    if inspect.isclass(function):
        return [parameters_of(signature)[1:] for signature, *_ in function.__init__.__nb_signature__]  # without self
    return [parameters_of(signature) for signature, *_ in function.__nb_signature__]


def test_parameters_of_a_signature():
    signature = "def f(a: ndarray[dtype=float64, shape=(*, *), device='cpu'] | None, b: int) -> tuple[list[int], float]"
    assert parameters_of(signature) == ["a", "b"]
    assert parameters_of("def f() -> tuple[int, int]") == []


def test_stub_lists_every_function():
    assert sorted(read_stub()) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_stub_has_the_parameters_of_the_module(name):
    (parameters,) = {tuple(overload) for overload in read_stub()[name]}
    assert {tuple(overload) for overload in overloads_in_module(name)} == {parameters}


# Their twins take sketches: kdi/_integral/build.py calls one or the other.
IN_HIGHER_LAYERS = {"fit", "build_maps"}


@pytest.mark.parametrize("name", sorted({*PUBLIC} - IN_HIGHER_LAYERS))
def test_twin_has_the_parameters_of_the_module(name):
    assert list(inspect.signature(getattr(numpy_core, name)).parameters) == overloads_in_module(name)[0]
