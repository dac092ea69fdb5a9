"""All experiments run, write what they should, can be stopped and resumed; what is committed is what the rows say."""

import csv
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from experiment_runs import run_experiments
from matplotlib.image import imread

from experiments.__main__ import EXPERIMENTS, PAPER, title
from experiments.claims import Claim, claim_table, sections, write_section

pytestmark = pytest.mark.xdist_group("experiments")  # one quick run for all of them

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
NAMES = [module.__name__.rpartition(".")[2] for module in PAPER]


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def figures_of(name, folder):
    """Stems of the figures that belong to an experiment, which are named after it."""
    longer = [other for other in NAMES if other.startswith(f"{name}_")]
    stems = {path.stem for path in folder.glob(f"{name}*.png")}
    return {stem for stem in stems if re.match(rf"{name}(_|$)", stem) and not stem.startswith(tuple(longer or ["-"]))}


class TestQuickRun:
    @pytest.mark.parametrize("name", EXPERIMENTS)
    def test_rows_and_page(self, quick_run, name):
        out, printed = quick_run
        assert len(read(out / f"{name}.csv")) > 1
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {title(name)}\n")
        assert "a quick run" in page
        assert f"\n{title(name)}\n" in printed

    @pytest.mark.parametrize("name", NAMES)
    def test_figures(self, quick_run, name):
        out, _ = quick_run
        stems = figures_of(name, out)
        assert stems
        for stem in stems:
            picture = imread(out / f"{stem}.png")
            assert min(picture.shape[:2]) > 200
            inside = picture[..., :3].reshape(-1, 3)
            assert len(np.unique((inside * 255).astype(int), axis=0)) > 10  # something is drawn
            # Nothing runs over the edge: the outermost pixels are background.
            edges = [picture[0], picture[-1], picture[:, 0], picture[:, -1]]
            assert all((edge[..., :3] == 1).all() for edge in edges), stem
            assert ElementTree.parse(out / f"{stem}.svg").getroot().tag.endswith("svg")

    @pytest.mark.parametrize("name", NAMES)
    def test_claims(self, quick_run, name):
        out, _ = quick_run
        lines = sections(out / "RESULTS.md")[title(name)].splitlines()
        assert lines[0].startswith(f"Written by `python -m experiments {name}`")
        judged = [line for line in lines if re.search(r"\| (yes|NO) \|$", line)]
        assert judged
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        assert all(line in page for line in judged)

    def test_sections_are_in_order(self, quick_run):
        out, _ = quick_run
        assert list(sections(out / "RESULTS.md")) == [title(name) for name in NAMES]

    def test_progress(self, quick_run):
        _, printed = quick_run
        for name in NAMES:
            part = printed.partition(f"\n{title(name)}\n")[2]
            assert re.match(r"(Left out: .*\n)*\d+ of \d+: .+; \d+ s gone, about \d+ s left\n", part), name


class TestStopped:
    def test_a_run_that_was_stopped_goes_on(self, quick_run, tmp_path):
        whole, _ = quick_run
        command = [sys.executable, "-m", "experiments", "small_data", "--quick", "--out", str(tmp_path)]
        begun = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        done = 0
        for line in begun.stdout:
            done += " s left" in line
            if done == 5:
                break
        os.killpg(begun.pid, signal.SIGKILL)
        begun.wait()
        assert not (tmp_path / "small_data.csv").exists()
        printed = run_experiments("small_data", "--quick", "--out", tmp_path)
        kept = int(re.search(r"^(\d+) of 48 kept from an earlier run$", printed, flags=re.MULTILINE)[1])
        assert kept >= 4
        assert "s of tasks in an earlier run that was stopped" in printed
        own, expected = ([{**row, "seconds": ""} for row in read(one / "small_data.csv")] for one in (tmp_path, whole))
        assert own == expected

    def test_sections_of_others_are_left_as_they_are(self, tmp_path):
        page, order = tmp_path / "RESULTS.md", ["Earth", "Water", "Air"]
        for name in ("Air", "Earth", "Water", "Earth"):
            write_section(page, name, f"of {name}", [Claim("it is there", "1.5 ± 0.1", name != "Air")], order)
        found = sections(page)
        assert list(found) == order
        assert found["Water"].startswith("of Water\n\n| claimed |")
        assert found["Air"].endswith("| it is there | 1.5 ± 0.1 | NO |")
        assert found["Earth"].endswith("| yes |")


class TestCommitted:
    """The committed results are those of whole runs, and say what their rows say."""

    @pytest.mark.parametrize("name", NAMES)
    def test_claims_follow_from_the_rows(self, name):
        experiment, page = EXPERIMENTS[name], sections(ROOT / "experiments" / "RESULTS.md")[title(name)]
        assert "quick" not in page
        rows = read(RESULTS / f"{name}.csv")
        table = claim_table(experiment.claims(rows)).markdown().partition("\n\n")[2]
        assert page.endswith(table)

    @pytest.mark.parametrize("name", NAMES)
    def test_gallery_shows_figures_and_command(self, name):
        stems = figures_of(name, RESULTS)
        assert stems
        for stem in stems:
            assert f"](../experiments/results/{stem}.png)" in GALLERY
            assert (RESULTS / f"{stem}.svg").exists()
        assert re.search(rf"^    python -m experiments {name}\b", GALLERY, flags=re.MULTILINE)

    def test_gallery_shows_nothing_that_is_not_there(self):
        for path in re.findall(r"\]\((\.\./[^)#]+)\)", GALLERY):
            assert (ROOT / "docs" / path).exists(), path
