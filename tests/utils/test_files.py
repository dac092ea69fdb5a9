"""Atomic writes: a file is complete or not there; errors of a full disk name it."""

import errno
import os
from pathlib import Path

import pytest

from kdi._utils.atomic_write import atomic_write, disk_full_context, target_path


@pytest.fixture
def path(tmp_path):
    return os.path.realpath(tmp_path / "out.csv")


def test_the_file_appears_at_the_end(path):
    with atomic_write(path) as temporary:
        Path(temporary).write_text("new")
        assert not os.path.exists(path)
        assert os.path.dirname(temporary) == os.path.dirname(path)  # the same disk
    assert Path(path).read_text() == "new"
    assert os.listdir(os.path.dirname(path)) == ["out.csv"]


@pytest.mark.parametrize("name", ["ä" * 120 + ".parquet", "x" + "日" * 82 + ".csv", "a" * 251 + ".csv"])
def test_a_name_as_long_as_file_systems_allow(tmp_path, name):
    target = os.path.realpath(tmp_path / name)
    with atomic_write(target) as temporary:
        Path(temporary).write_text("new")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(error, path):
    Path(path).write_text("old")
    with pytest.raises(error), atomic_write(path) as temporary:
        Path(temporary).write_text("half")
        raise error
    assert Path(path).read_text() == "old"
    assert os.listdir(os.path.dirname(path)) == ["out.csv"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_a_full_disk_names_the_target(number, path):
    with pytest.raises(OSError) as caught, atomic_write(path):
        raise OSError(number, "full")
    assert (caught.value.errno, caught.value.filename) == (number, path)
    with pytest.raises(OSError) as caught, disk_full_context(path):
        raise OSError(number, "full", "another file")
    assert caught.value.filename == "another file"


def test_target_paths(tmp_path, path):
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    assert target_path(link, "a page") == target_path(path, "a page") == path
    with pytest.raises(TypeError, match="the target must be the path of a page, got int"):
        target_path(3, "a page")
    with pytest.raises(IsADirectoryError, match="is a directory; cannot write a page"):
        target_path(tmp_path, "a page")
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        target_path(tmp_path / "none" / "a.html", "a page")
    with pytest.raises(ValueError, match="is not a regular file; cannot write a page"):
        target_path(os.devnull, "a page")
