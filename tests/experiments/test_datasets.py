"""The data of the experiments: shapes, the reader of ARFF files, the archive."""

import os
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from experiments import datasets

ARCHIVE = os.environ.get("KDI_UCI_ARCHIVE")

TEXT = """% a comment, with @data in it
@RELATION measured

@attribute 'long name' REAL
@attribute size {small, large, other}
@attribute count INTEGER
@attribute Class {yes,no}

@Data
% another
1.5, small, 3, yes
?,large,4,no
-2e3,?,?,no
"""


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "shape", "mean"), [("california", (20640, 8), 2.0686), ("abalone", (4177, 10), 9.9337)]
    )
    def test_regression(self, name, shape, mean):
        table, target = datasets.regression(name)
        assert table.shape == shape
        assert table.dtype == target.dtype == np.float64
        assert np.isfinite(table).all()
        assert target.shape == shape[:1]
        assert target.mean() == pytest.approx(mean, abs=1e-4)

    def test_sexes_of_abalone_are_one_hot(self):
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
    def test_classification(self, name, columns, counts):
        table, labels = datasets.classification(name)
        assert table.shape == (sum(counts), columns)
        assert np.isfinite(table).all()
        assert_array_equal(np.bincount(labels), counts)

    def test_unknown_names(self):
        with pytest.raises(ValueError, match=r"one of \('california', 'abalone'\), got 'boston'"):
            datasets.regression("boston")
        with pytest.raises(ValueError, match="got 'digits'"):
            datasets.classification("digits")


class TestArff:
    def test_arrays(self):
        """Numbers and NaN, categories one-hot, a missing one is its own."""
        table, labels = datasets.arff_arrays(TEXT)
        assert_array_equal(table[:, 0], [1.5, np.nan, -2000])
        assert_array_equal(table[:, 1:-1], np.eye(3)[[2, 1, 0]])  # sorted: ?, large, small
        assert_array_equal(table[:, -1], [3, 4, np.nan])
        assert_array_equal(labels, [1, 0, 0])

    def test_small_classes_and_large_sets(self):
        def made(counts):
            head = "@relation made\n@attribute a numeric\n@attribute b {u,v}\n@attribute class {x,y}\n@data\n"
            lines = [f"{number},{'uv'[number % 2]},{label}" for label in "xy" for number in range(counts[label])]
            return head + "\n".join(lines)

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
    def test_not_given(self, monkeypatch):
        monkeypatch.delenv("KDI_UCI_ARCHIVE", raising=False)
        with pytest.raises(FileNotFoundError, match=r"UCI\+\+ \(doi 10.5281/zenodo.13748\); set KDI_UCI_ARCHIVE"):
            datasets.benchmarks()

    def test_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file .*none\.tar\.xz; set KDI_UCI_ARCHIVE"):
            datasets.benchmarks(tmp_path / "none.tar.xz")

    def test_another_file(self, monkeypatch, tmp_path):
        other = tmp_path / "other.tar.xz"
        other.write_bytes(b"something else")
        monkeypatch.setenv("KDI_UCI_ARCHIVE", str(other))
        with pytest.raises(ValueError, match="not the archive that these experiments use") as error:
            datasets.benchmarks()
        assert "\n" not in str(error.value)
        assert "zenodo" in str(error.value)

    def test_smallest_are_shipped(self):
        found = {name: (table, labels) for name, table, labels in datasets.benchmarks(datasets.SMALLEST)}
        assert len(found) == 12
        table, labels = found["iris"]
        expected, classes = datasets.classification("iris")
        differ = np.sort(table, axis=0) != np.sort(expected, axis=0)
        assert differ.sum() <= 10  # the repository's file has some errors that scikit-learn's has not
        assert_array_equal(np.bincount(labels), np.bincount(classes))

    def test_every_set_has_a_published_score(self):
        scores = datasets.published_scores()
        assert len(scores) == 142
        assert all(0.4 < score <= 1 for score in scores.values())
        assert {name for name, *_ in datasets.benchmarks(datasets.SMALLEST)} <= scores.keys()

    @pytest.mark.skipif(not ARCHIVE, reason="KDI_UCI_ARCHIVE does not say where the archive is")
    def test_smallest_are_those_of_the_archive(self):
        smallest = datasets.archive_files(datasets.SMALLEST)
        assert smallest == datasets.archive_files(datasets.find_archive())[: len(smallest)]

    @pytest.mark.skipif(not ARCHIVE, reason="KDI_UCI_ARCHIVE does not say where the archive is")
    def test_all_are_read(self):
        files = datasets.archive_files(datasets.find_archive())
        assert len(files) == 137
        for name, text in files:
            table, labels = datasets.arff_arrays(text)
            assert len(table) == len(labels) == text.lower().partition("@data")[2].count("\n") - 1, name
            assert np.isfinite(table).all(), name  # there are no missing values in these
            assert np.bincount(labels).min() >= 16, name

    @pytest.mark.skipif(not ARCHIVE, reason="KDI_UCI_ARCHIVE does not say where the archive is")
    def test_small_ones(self):
        assert len(list(datasets.benchmarks(most_rows=800, most_columns=40))) == 39
        found = {name: (table, labels) for name, table, labels in datasets.benchmarks(most_rows=1000, most_columns=40)}
        assert len(found) == 44
        table, labels = found["wine"]
        expected, classes = datasets.classification("wine")
        assert table.shape == expected.shape
        assert_array_equal(np.sort(np.bincount(labels)), np.sort(np.bincount(classes)))
