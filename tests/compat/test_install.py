"""kdi.compat.install: `import kditransform` finds kdi's replacement."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest

import kdi
import kdi.compat
import kdi.compat.kditransform as new
from kdi.compat.kditransform import ksum


@pytest.fixture
def absent(monkeypatch):
    """As if kditransform were not installed, and nothing had been imported under that name."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "kditransform"}
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "kditransform" else find(name, *rest)
    )
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "kditransform"]:
        del sys.modules[name]
    sys.modules.update(before)


def test_all_ways_to_import_it(absent):
    kdi.compat.install()
    import kditransform
    import kditransform.kdi_discretizer
    import kditransform.kdi_transformer as inner
    import kditransform.ksum
    from kditransform import KDITransformer
    from kditransform.kdi_discretizer import KBinsKDIDiscretizer
    from kditransform.kdi_transformer import BOUNDS_THRESHOLD

    assert kditransform is new and kditransform.kdi_discretizer.KDIDiscretizer is new.KDIDiscretizer
    assert KDITransformer is new.KDITransformer is inner.KDITransformer
    assert KBinsKDIDiscretizer is new.KBinsKDIDiscretizer
    assert BOUNDS_THRESHOLD == 1e-7 and kditransform.ksum is ksum
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("kditransform.nothing")


def test_twice_is_harmless(absent):
    kdi.compat.install()
    kdi.compat.install()
    assert sys.modules["kditransform"] is new


def test_pickles_do_not_need_it(absent, table):
    kdi.compat.install()
    from kditransform import KDITransformer

    data = pickle.dumps(KDITransformer().fit(table))
    for name in [name for name in sys.modules if name.split(".")[0] == "kditransform"]:
        del sys.modules[name]
    assert isinstance(pickle.loads(data), new.KDITransformer)


def test_refused_where_it_was_imported(absent):
    sys.modules["kditransform"] = np
    with pytest.raises(RuntimeError, match="imported already"):
        kdi.compat.install()
    assert sys.modules["kditransform"] is np


def test_refused_where_it_is_installed(absent, monkeypatch, tmp_path):
    monkeypatch.undo()
    (tmp_path / "kditransform").mkdir()
    (tmp_path / "kditransform" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="kditransform is installed"):
        kdi.compat.install()
    assert "kditransform" not in sys.modules
