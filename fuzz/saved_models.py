"""from_json of all models: texts are ValueErrors or models that work, whatever is changed in a saved model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import saved_models as helpers  # tests/helpers

import kdi
from fuzz.checks import documented
from fuzz.decoder import Decoder

STORED = Path(helpers.__file__).parents[1] / "models"
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 1e-310, 1e19, 2**53, 2**63, 2**64, 10**298),
    *("nan", "inf", "-inf", "x", "", "\ud800", "scott", "cubic", "linear", "constant", "empty", "kdi.KDIDiscretizer"),
    *([], {}, [[]], [0, 1], [1, 0], ["nan", "nan"], [1e308, -1e308], [[0, 0, 0, 0]], {"a": 1}),
]


@cache
def documents() -> list[Any]:
    """Saved models: the small ones of the tests, and the stored ones of every format version."""
    texts = [*helpers.TEXTS.values(), *(path.read_text() for path in sorted(STORED.glob("*.json")))]
    return [json.loads(text) for text in texts]


def check(data: bytes) -> None:
    """Read a text: bytes as they are, or a saved model with some of its nodes changed."""
    decoder = Decoder(data)
    text: Any
    if decoder.one_in(8):
        text = decoder.rest()
    else:
        document = json.loads(json.dumps(decoder.choice(documents())))
        for _ in range(decoder.choice([1, 1, 1, 2, 3, 4])):
            change(decoder, document)
        text = json.dumps(document)
    for cls in (kdi.KDITransformer, kdi.KDIDiscretizer):
        model: Any = None
        with documented(".*"):
            model = cls.from_json(text)
        if model is not None:
            helpers.check_usable(model)


def change(decoder: Decoder, document: Any) -> None:
    """Change one node of a document in place."""
    parent, key = node(decoder, document)
    if parent is None:
        return
    value = parent[key]
    kind = decoder.integer(0, 9)
    if kind == 0 and isinstance(parent, dict | list):
        del parent[key]
    elif kind == 1:
        parent[key] = json.loads(json.dumps(decoder.choice(VALUES)))
    elif kind == 2:  # a node from elsewhere
        source, other = node(decoder, document)
        if source is not None:
            parent[key] = json.loads(json.dumps(source[other]))
    elif kind == 3 and isinstance(value, list):
        value.insert(decoder.integer(0, len(value)), value[0] if value else 0)
    elif kind == 4 and isinstance(value, list):
        value.reverse()
    elif kind == 5 and isinstance(value, list):
        del value[decoder.integer(0, len(value)) :]
    elif type(value) in (int, float):
        _change_number(decoder, parent, key, kind)
    elif isinstance(value, dict):
        value[decoder.choice(["x", "__class__", "map", "sketch", "name"])] = decoder.choice(VALUES)


def _change_number(decoder: Decoder, parent: Any, key: Any, kind: int) -> None:
    value = parent[key]
    if kind <= 6:
        other = decoder.number()
        parent[key] = other if abs(other) < 1e309 else repr(other)
    elif kind == 7:
        factor = decoder.choice([-1, 0.5, 1 + 1e-6, 1 + 2**-52, 1 - 2**-53, 1.5, 2, 1e3, 1e200, 1e-200])
        parent[key] = type(value)(min(max(value * factor, -1e308), 1e308))
    else:
        parent[key] = value + decoder.integer(-3, 3)


def node(decoder: Decoder, document: Any) -> tuple[Any, Any]:
    """Return the parent and the key of a node: of any node of the document, or of one of its numbers and texts."""
    nodes = list(_nodes(document, leaves=not decoder.one_in(3)))
    return nodes[decoder.integer(0, 2**16 - 1) % len(nodes)] if nodes else (None, None)


def _nodes(parent: Any, leaves: bool) -> Iterator[tuple[Any, Any]]:
    """Yield parents and keys; of long lists, the ends and some of what lies between."""
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    if isinstance(parent, list) and len(parent) > 12:
        keys = [*keys[:4], *keys[4:-4:7], *keys[-4:]]
    for key in keys:
        inner = isinstance(parent[key], dict | list)
        if not (inner and leaves):
            yield parent, key
        if inner:
            yield from _nodes(parent[key], leaves)
