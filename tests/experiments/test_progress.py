"""Rows of tasks that are cached between runs, and what their keys depend on."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

import kdi
from experiments import progress
from kdi._numerics.backend import core


class TestCachedRows:
    """A run that was stopped goes on where it was."""

    def test_only_what_is_missing_is_run(self, tmp_path, capsys):
        calls = []

        def task(name, key):
            return progress.Task(name, 1.0, lambda: calls.append(name) or [{"name": name, "value": 0.1}], key)

        tasks = [task("one", "1"), task("two", "2"), task("never cached", "")]
        path = tmp_path / ".cache" / "rows.jsonl"
        with progress.cached_rows(path):
            first = progress.run(tasks[:1])
        with path.open("a", encoding="utf-8") as file:
            file.write('\n{"key": "2", "ro')  # killed while it wrote
        with progress.cached_rows(path):
            second = progress.run(tasks)
        with progress.cached_rows(path):
            third = progress.run(tasks)
        assert [row["name"] for row in second] == ["one", "two", "never cached"]
        assert first == second[:1]
        assert second == third
        assert calls == ["one", "two", "never cached", "never cached"]
        assert "2 of 3 kept from an earlier run" in capsys.readouterr().out

    def test_nothing_is_cached_outside(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        with progress.cached_rows(path):
            pass
        progress.run([progress.Task("one", 1.0, lambda: [{"value": 1}], "1")])
        assert not path.exists()

    def test_processes_give_rows_in_order(self, tmp_path):
        tasks = [
            progress.Task(f"{number}", 1.0, partial(list, [{"number": number}]), f"{number}") for number in range(5)
        ]
        path = tmp_path / "rows.jsonl"
        with progress.cached_rows(path):
            rows = progress.run(tasks, n_jobs=2)
        assert rows == [{"number": number} for number in range(5)]
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        assert {line["key"] for line in lines} == {f"{number}" for number in range(5)}


class TestHashOfSources:
    """Cached rows must not be used after a change of kdi."""

    @pytest.fixture
    def package(self, tmp_path):
        """A copy of the package, and of its compiled core in another folder, as in an editable installation."""
        package, core_file = tmp_path / "kdi", tmp_path / "installed" / Path(core.__file__).name
        shutil.copytree(Path(kdi.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        core_file.parent.mkdir()
        shutil.copy(core.__file__, core_file)
        return package, core_file

    def test_all_modules_and_the_core_count(self, package):
        folder, core_file = package
        hashes = {progress.hash_sources(*package)}
        changed = [
            folder / "__init__.py",
            folder / "_sketch" / "sketch.py",
            folder / "compat" / "kditransform" / "ksum.py",
        ]
        for count, path in enumerate([*changed, core_file], start=2):
            path.write_bytes(path.read_bytes() + b"\n")
            hashes.add(progress.hash_sources(*package))
            assert len(hashes) == count

    def test_new_removed_and_moved_modules_count(self, package):
        folder, _ = package
        hashes = {progress.hash_sources(*package)}
        (folder / "_sketch" / "new.py").write_text("")
        hashes.add(progress.hash_sources(*package))
        (folder / "_sketch" / "new.py").rename(folder / "_tables" / "new.py")
        hashes.add(progress.hash_sources(*package))
        (folder / "_tables" / "new.py").write_text("1")
        hashes.add(progress.hash_sources(*package))
        assert len(hashes) == 4
        (folder / "_tables" / "new.py").unlink()
        assert progress.hash_sources(*package) in hashes

    def test_other_files_do_not_count(self, package):
        folder, _ = package
        before = progress.hash_sources(*package)
        (folder / "explorer" / "notes.txt").write_text("")
        assert progress.hash_sources(*package) == before

    def test_keys_contain_it(self, package, monkeypatch):
        monkeypatch.setattr(kdi, "__file__", str(package[0] / "__init__.py"))
        keys, others = [], []
        for _ in range(2):
            progress.kdi_sources.cache_clear()
            keys.append(progress.task_key(__file__, "a task"))
            others.append(progress.task_key(__file__, "a task", kdi_matters=False))
            (package[0] / "_integral" / "maps.py").write_text("")
        progress.kdi_sources.cache_clear()  # the next call hashes the package itself
        assert keys[0] != keys[1]
        assert others[0] == others[1]  # of a task that measures others only
