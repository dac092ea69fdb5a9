"""Damaged models: whatever is changed in a text, the outcome is a ValueError or a model that works."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_models import CLASSES, TEXTS, assert_same, check_usable

pytestmark = pytest.mark.slow


def test_small_models_cover_what_there_is():
    documents = [json.loads(text) for text in TEXTS.values()]
    features = [feature for document in documents for feature in document["features"]]
    packed = [document["maps"]["kind"] for document in documents if "maps" in document]
    assert {kind for kinds in packed for kind in kinds} == {"cubic", "linear", "constant", "empty"}
    assert {feature["map"]["kind"] for feature in features if "map" in feature} == {"cubic", "linear"}
    assert {document["version"] for document in documents} == {1, 3}
    assert {"cells" in feature["sketch"] for feature in features if "sketch" in feature} == {True, False}
    widths = {len(feature["density"]["moments"][0]) for feature in features if feature.get("density")}
    assert widths == {1, 4}
    assert any(feature.get("density", 0) is None for feature in features)


class Raw(str):
    """A piece of JSON that is written as it is."""


def written(value):
    """JSON, with raw pieces, and objects as lists of pairs so that keys may repeat."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def places(value, way=()):
    """Ways to the nodes of a document; of long lists, the ends and the middle."""
    if way:
        yield way
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    if isinstance(value, list) and len(value) > 6:
        keys = [0, 1, len(value) // 2, -2, -1]
    for key in keys:
        yield from places(value[key], (*way, key))


def changed(document, way, change):
    """The document with one of its nodes changed: `change` takes its parent and its key."""
    result = copy.deepcopy(document)
    parent = result
    for key in way[:-1]:
        parent = parent[key]
    change(parent, way[-1])
    return written(result)


def without(parent, key):
    del parent[key]


def twice(parent, key):
    if isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = Raw(f"{written(parent[key])}, {json.dumps(key)}: {written(parent[key])}")


def with_more(parent, key):
    if isinstance(parent[key], dict):
        parent[key]["__class__"] = "os.system"
    elif isinstance(parent[key], list):
        parent[key].append(parent[key][-1] if parent[key] else 0)


def reversed_there(parent, key):
    if isinstance(parent[key], list):
        parent[key].reverse()


def scaled(factor):
    def change(parent, key):
        if type(parent[key]) in (int, float):
            parent[key] = type(parent[key])(parent[key] * factor)

    return change


def replaced(text):
    return lambda parent, key: parent.__setitem__(key, Raw(text))


HOSTILE = [
    *(
        "null",
        "true",
        "false",
        "0",
        "-0.0",
        "1",
        "-1",
        "2",
        "0.5",
        "1e308",
        "-1e308",
        "5e-324",
        "1e400",
        "-1e400",
        "1e19",
    ),
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        '"nan"',
        '"inf"',
        '"-inf"',
        '"x"',
        '"1.0"',
        '""',
        '"\\ud800"',
        "[]",
        "{}",
        "[[]]",
    ),
    *("9223372036854775807", "9223372036854775808", str(2**70), "1" * 299, "1" * 400, "1" * 5000),
    *("[0, 1]", "[1, 0]", "[1.0, 2.0]", '["nan", "nan"]', "[1e308, -1e308]", "[[0, 0, 0, 0]]", "[[0], [1, 2]]", "[{}]"),
    *('{"a": 1}', '{"b": 1, "zz": 2}', "[[[[1]]]]", '"scott"', "[" * 700 + "]" * 700),
]
CHANGES = [without, twice, with_more, reversed_there, *(scaled(f) for f in (-1, 0.5, 1 + 1e-6, 1.5, 2, 1e3, 1e200))]


@pytest.mark.parametrize("name", TEXTS)
def test_every_changed_node(name):
    """Whatever is changed, the outcome is a ValueError or a model that works."""
    document, cls = json.loads(TEXTS[name]), CLASSES[name]
    assert_same(cls.from_json(written(document)), cls.from_json(TEXTS[name]))
    n_refused = n_accepted = 0
    seen = set()
    for way in places(document):
        for change in [*CHANGES, *map(replaced, HOSTILE)]:
            text = changed(document, way, change)
            if text in seen:
                continue
            seen.add(text)
            try:
                model = cls.from_json(text)
            except ValueError as error:
                assert len(str(error)) < 1000, way
                n_refused += 1
            else:
                check_usable(model)
                n_accepted += 1
    assert n_refused > 5 * n_accepted


@settings(max_examples=400)
@given(
    st.sampled_from(list(TEXTS)),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 8), st.text(max_size=8)), min_size=1, max_size=4),
)
def test_patched_texts(name, patches):
    text, cls = TEXTS[name], CLASSES[name]
    for place, length, patch in patches:
        place %= len(text)
        text = text[:place] + patch + text[place + length :]
    try:
        model = cls.from_json(text)
    except ValueError:
        return
    check_usable(model)


@settings(max_examples=400)
@given(st.sampled_from(list(TEXTS)), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1))
def test_flipped_bytes(name, flips):
    data, cls = bytearray(TEXTS[name].encode()), CLASSES[name]
    for place, byte in flips[:4]:
        data[place % len(data)] = byte
    try:
        model = cls.from_json(bytes(data))
    except ValueError:
        return
    check_usable(model)


@settings(max_examples=400)
@given(st.sampled_from(list(TEXTS)), st.data())
def test_changed_digits(name, data):
    """Digits only, so that the text stays JSON and the numbers are almost right."""
    text, cls = TEXTS[name], CLASSES[name]
    digits = [place for place, letter in enumerate(text) if letter.isdigit()]
    for place in data.draw(st.lists(st.sampled_from(digits), min_size=1, max_size=3)):
        text = text[:place] + str(data.draw(st.integers(0, 9))) + text[place + 1 :]
    try:
        model = cls.from_json(text)
    except ValueError:
        return
    check_usable(model)
