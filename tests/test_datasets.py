"""The data of the experiments: shapes, the reader of ARFF files, the archive; and rows that are kept between runs."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

ROOT = Path(__file__).parent.parent
ARCHIVE = os.environ.get("KDI_UCI_ARCHIVE")

TEXT = r"""% a comment, with @data in it
@RELATION 'a relation with spaces'

@attribute 'long name, with a comma' REAL
@Attribute   "double \"quoted\""   {small, 'very large', "50% \'more\'"}
@attribute word string
@attribute count INTEGER [0, 10]
@attribute class {yes,no}

@Data
% another
1.5, small, a, 3, yes
?,'very large',"b, c",4,no

-2e3 , ? , ?, ?, no
{0 7, 1 "50% 'more'", 2 '1 x, y', 3 2, 4 no}
{ }
0,small,a,1,?
"""


@pytest.fixture
def datasets(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from experiments import datasets

    return datasets


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "shape", "mean"), [("california", (20640, 8), 2.0686), ("abalone", (4177, 10), 9.9337)]
    )
    def test_regression(self, datasets, name, shape, mean):
        table, target = datasets.regression(name)
        assert table.shape == shape
        assert table.dtype == target.dtype == np.float64
        assert np.isfinite(table).all()
        assert target.shape == shape[:1]
        assert target.mean() == pytest.approx(mean, abs=1e-4)

    def test_sexes_of_abalone_are_one_hot(self, datasets):
        table, _ = datasets.regression("abalone")
        assert_array_equal(table[:, :3].sum(axis=0), [1307, 1342, 1528])  # F, I, M
        assert_array_equal(table[:, :3].sum(axis=1), 1)

    @pytest.mark.parametrize(
        ("name", "columns", "counts"),
        [
            ("wine", 13, [59, 71, 48]),
            ("iris", 4, [50, 50, 50]),
            ("penguins", 4, [146, 68, 119]),  # Adelie, Chinstrap, Gentoo
            ("hawks", 5, [69, 567, 255]),  # Cooper's, red-tailed, sharp-shinned
        ],
    )
    def test_classification(self, datasets, name, columns, counts):
        table, labels = datasets.classification(name)
        assert table.shape == (sum(counts), columns)
        assert np.isfinite(table).all()
        assert_array_equal(np.bincount(labels), counts)

    def test_unknown_names(self, datasets):
        with pytest.raises(ValueError, match=r"one of \('california', 'abalone'\), got 'boston'"):
            datasets.regression("boston")
        with pytest.raises(ValueError, match="got 'digits'"):
            datasets.classification("digits")


class TestArff:
    def test_attributes(self, datasets):
        file = datasets.Arff.parse(TEXT)
        names = ["long name, with a comma", 'double "quoted"', "word", "count", "class"]
        assert [name for name, _ in file.attributes] == names
        assert [datasets.is_numeric(kind) for _, kind in file.attributes] == [True, False, False, True, False]

    def test_values(self, datasets):
        columns = datasets.Arff.parse(TEXT).columns()
        assert columns == [
            ("1.5", "?", "-2e3", "7", "0", "0"),
            ("small", "very large", "?", "50% 'more'", "small", "small"),
            ("a", "b, c", "?", "1 x, y", "?", "a"),
            ("3", "4", "?", "2", "0", "1"),
            ("yes", "no", "no", "no", "yes", "?"),
        ]

    def test_arrays(self, datasets):
        """Numbers and NaN, categories one-hot, a missing one is its own; a row without its label is left out."""
        table, labels = datasets.Arff.parse(TEXT).arrays()
        # Categories are sorted: "50% 'more'", ?, small, very large; "1 x, y", ?, a, "b, c".
        assert_array_equal(table[:, 0], [1.5, np.nan, -2000, 7, 0])
        assert_array_equal(table[:, 1:5].argmax(axis=1), [2, 3, 1, 0, 2])
        assert_array_equal(table[:, 5:9].argmax(axis=1), [2, 3, 1, 0, 1])
        assert_array_equal(table[:, 1:9].sum(axis=1), 2)
        assert_array_equal(table[:, 9], [3, 4, np.nan, 2, 0])
        assert_array_equal(labels, [1, 0, 0, 0, 1])

    def test_refused(self, datasets):
        with pytest.raises(ValueError, match="no @data"):
            datasets.Arff.parse("@relation nothing\n@attribute a numeric\n")
        with pytest.raises(ValueError, match="row 1 has 1 values for 2 attributes"):
            datasets.Arff.parse("@attribute a numeric\n@attribute class {x}\n@data\n1,x\n2\n").columns()

    def test_small_classes_and_large_sets(self, datasets):
        def made(counts):
            head = "@attribute a numeric\n@attribute b {u,v}\n@attribute class {x,y}\n@data\n"
            lines = [f"{number},{'uv'[number % 2]},{label}" for label in "xy" for number in range(counts[label])]
            return datasets.Arff.parse(head + "\n".join(lines))

        files = [
            ("few", made({"x": 100, "y": 15})),
            ("enough", made({"x": 100, "y": 16})),
            ("many", made({"x": 9_000, "y": 9_000})),
        ]
        found = {name: (table, labels) for name, table, labels in datasets.usable(files, None, None)}
        assert list(found) == ["enough", "many"]
        assert found["enough"][0].shape == (116, 3)
        table, labels = found["many"]
        assert table.shape == (10_000, 3)
        assert Counter(labels.tolist()).keys() == {0, 1}
        assert_array_equal(table, list(datasets.usable(files, None, None))[1][1])
        assert [name for name, *_ in datasets.usable(files, 200, None)] == ["enough"]
        assert not list(datasets.usable(files, None, 2))


class TestArchive:
    def test_not_given(self, datasets, monkeypatch):
        monkeypatch.delenv("KDI_UCI_ARCHIVE", raising=False)
        with pytest.raises(FileNotFoundError, match=r"UCI\+\+ \(doi 10.5281/zenodo.13748\); set KDI_UCI_ARCHIVE"):
            datasets.benchmarks()

    def test_not_there(self, datasets, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file .*none\.tar\.xz; set KDI_UCI_ARCHIVE"):
            datasets.benchmarks(tmp_path / "none.tar.xz")

    def test_another_file(self, datasets, monkeypatch, tmp_path):
        other = tmp_path / "other.tar.xz"
        other.write_bytes(b"something else")
        monkeypatch.setenv("KDI_UCI_ARCHIVE", str(other))
        with pytest.raises(ValueError, match="not the archive that these experiments use") as error:
            datasets.benchmarks()
        assert "\n" not in str(error.value)
        assert "zenodo" in str(error.value)

    @pytest.mark.skipif(not ARCHIVE, reason="KDI_UCI_ARCHIVE does not say where the archive is")
    def test_all_are_read(self, datasets):
        files = datasets.archive_files(datasets.find_archive())
        assert len(files) == 137
        for name, file in files:
            table, labels = file.arrays()
            assert table.shape[0] == labels.shape[0] == len(file.lines), name
            assert np.isfinite(table).all(), name  # there are no missing values in these
            assert np.bincount(labels).min() >= 16, name

    @pytest.mark.skipif(not ARCHIVE, reason="KDI_UCI_ARCHIVE does not say where the archive is")
    def test_small_ones(self, datasets):
        assert len(list(datasets.benchmarks(most_rows=800, most_columns=40))) == 39
        found = {name: (table, labels) for name, table, labels in datasets.benchmarks(most_rows=1000, most_columns=40)}
        assert len(found) == 44
        table, labels = found["wine"]
        expected, classes = datasets.classification("wine")
        assert table.shape == expected.shape
        assert_array_equal(np.sort(np.bincount(labels)), np.sort(np.bincount(classes)))


class TestKept:
    """A run that was stopped goes on where it was."""

    @pytest.fixture
    def progress(self, monkeypatch):
        monkeypatch.syspath_prepend(ROOT)
        from experiments import progress

        return progress

    def test_only_what_is_missing_is_run(self, progress, tmp_path, capsys):
        calls = []

        def task(name, key):
            return progress.Task(name, 1.0, lambda: calls.append(name) or [{"name": name, "value": 0.1}], key)

        tasks = [task("one", "1"), task("two", "2"), task("never kept", "")]
        path = tmp_path / ".cache" / "rows.jsonl"
        with progress.keeping(path):
            first = progress.run(tasks[:1])
        with path.open("a", encoding="utf-8") as file:
            file.write('\n{"key": "2", "ro')  # killed while it wrote
        with progress.keeping(path):
            second = progress.run(tasks)
        with progress.keeping(path):
            third = progress.run(tasks)
        assert [row["name"] for row in second] == ["one", "two", "never kept"]
        assert first == second[:1]
        assert second == third
        assert calls == ["one", "two", "never kept", "never kept"]
        assert "2 of 3 kept from an earlier run" in capsys.readouterr().out

    def test_nothing_is_kept_outside(self, progress, tmp_path):
        path = tmp_path / "rows.jsonl"
        with progress.keeping(path):
            pass
        progress.run([progress.Task("one", 1.0, lambda: [{"value": 1}], "1")])
        assert not path.exists()

    def test_processes_give_rows_in_order(self, progress, tmp_path):
        tasks = [progress.Task(f"{number}", 1.0, Numbered(number), f"{number}") for number in range(5)]
        path = tmp_path / "rows.jsonl"
        with progress.keeping(path):
            rows = progress.run(tasks, n_jobs=2)
        assert rows == [{"number": number} for number in range(5)]
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        assert {line["key"] for line in lines} == {f"{number}" for number in range(5)}


class Numbered:
    def __init__(self, number):
        self.number = number

    def __call__(self):
        return [{"number": self.number}]
