"""All experiments run, write what they should, can be stopped and resumed; what is committed is what the rows say."""

import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from functools import partial

import pytest
from experiment_runs import run_experiments
from matplotlib.image import imread
from paths import RESULTS, ROOT

from experiments import __main__ as main_module
from experiments.__main__ import EXPERIMENTS, title
from experiments.claims import Claim, markdown, plain, sections, write_section
from experiments.datasets import NoArchive
from experiments.rows import read_rows

GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
NAMES = [name for name, module in EXPERIMENTS.items() if hasattr(module, "claims")]

# The first test that needs the quick run waits for it: some minutes on a busy machine.
pytestmark = [pytest.mark.timeout(1500), pytest.mark.slow]


def figures_of(name, folder):
    """Stems of the figures of an experiment, which begin with its name."""
    return {path.stem for path in folder.glob(f"{name}*.png")}


class TestQuickRun:
    @pytest.mark.parametrize("name", EXPERIMENTS)
    def test_rows_and_page(self, quick_run, name):
        out, printed = quick_run
        assert len(read_rows(out / f"{name}.csv")) > 1
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {title(name)}\n")
        assert f"`python -m experiments {name} --quick` (too little data for conclusions)" in page
        assert f"\n{title(name)}\n" in printed

    @pytest.mark.parametrize("name", NAMES)
    def test_figures(self, quick_run, name):
        out, _ = quick_run
        stems = figures_of(name, out)
        assert stems
        for stem in stems:
            picture = imread(out / f"{stem}.png")
            assert min(picture.shape[:2]) > 200
            # Nothing runs over the edge: the outermost pixels are background.
            edges = [picture[0], picture[-1], picture[:, 0], picture[:, -1]]
            assert all((edge[..., :3] == 1).all() for edge in edges), stem
            assert ElementTree.parse(out / f"{stem}.svg").getroot().tag.endswith("svg")

    @pytest.mark.parametrize("name", NAMES)
    def test_claims(self, quick_run, name):
        out, _ = quick_run
        section = sections(out / "RESULTS.md")[title(name)]
        assert section.endswith(EXPERIMENTS[name].RULES)
        lines = section.splitlines()
        assert lines[0].startswith(f"Written by `python -m experiments {name} --quick`")
        assert f"[All numbers]({name}.md)" in lines[0]
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
            assert re.match(r"(Left out: .*\n)*\d+ of \d+: .+; \d+ s elapsed, about \d+ s left\n", part), name


def stopped(out, by):
    """A quick run that is sent a signal once three tasks are done, as a terminal sends it: to all of its processes."""
    command = [sys.executable, "-m", "experiments", "small_data", "--quick", "--out", str(out)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    # Where the tests themselves run in the background they may ignore interrupts, and so would what they start.
    options |= {"start_new_session": True, "preexec_fn": partial(signal.signal, signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, cwd=ROOT, **options) as begun:
        done = 0
        while done < 3:
            done += " s left" in begun.stdout.readline()
        os.killpg(begun.pid, by)
        _, said = begun.communicate()
    assert begun.returncode != 0
    assert not (out / "small_data.csv").exists()
    return said


class TestStopped:
    def test_a_run_that_was_stopped_goes_on(self, quick_run, tmp_path):
        whole, _ = quick_run
        assert stopped(tmp_path, signal.SIGINT).endswith("Stopped. The same command goes on from here.\n")
        stopped(tmp_path, signal.SIGKILL)
        printed = run_experiments("small_data", "--quick", "--out", tmp_path)
        kept = int(re.search(r"^(\d+) of 48 kept from an earlier run$", printed, flags=re.MULTILINE)[1])
        assert kept >= 5  # three and three, but for one that was being written
        assert re.search(r"and \d+ s of tasks kept from earlier runs", printed)
        own, expected = (
            [{**row, "seconds": ""} for row in read_rows(one / "small_data.csv")] for one in (tmp_path, whole)
        )
        assert own == expected


class TestResultsPage:
    def test_sections_of_others_are_left_as_they_are(self, tmp_path):
        page, order = tmp_path / "RESULTS.md", ["Earth", "Water", "Air"]
        for name in ("Air", "Earth", "Water", "Earth"):
            write_section(page, name, f"of {name}\n\n- a list", order)
        assert sections(page) == {name: f"of {name}\n\n- a list" for name in order}
        assert list(sections(page)) == order

    def test_claims_as_text(self):
        claims = [Claim("it is there", "1.5 ± 0.1", True), Claim("it is gone", "2", False)]
        assert markdown(claims).splitlines()[2:] == [
            "| it is there | 1.5 ± 0.1 | yes |",
            "| it is gone | 2 | NO |",
        ]
        assert plain(claims).splitlines() == ["yes  it is there", "     1.5 ± 0.1", " NO  it is gone", "     2"]


class TestWithoutArchive:
    """The Small Data Benchmarks are read from an archive that is not shipped."""

    def run(self, *arguments, archive=None):
        environment = {name: value for name, value in os.environ.items() if name != "KDI_UCI_ARCHIVE"}
        environment |= {"KDI_UCI_ARCHIVE": str(archive)} if archive else {}
        command = [sys.executable, "-m", "experiments", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8")

    def test_one_line_says_what_is_missing(self, tmp_path):
        finished = self.run("small_data", "--out", tmp_path)
        assert finished.returncode == 1
        assert finished.stderr.count("\n") == 1
        assert "set KDI_UCI_ARCHIVE to its path" in finished.stderr

    def test_one_line_says_that_it_is_another(self, tmp_path):
        other = tmp_path / "other.tar.xz"
        other.write_bytes(b"something else")
        finished = self.run("small_data", "--out", tmp_path, archive=other)
        assert finished.returncode == 1
        assert finished.stderr.count("\n") == 1
        assert "is not the archive that these experiments use" in finished.stderr

    def test_others_go_on_without_it(self, tmp_path, monkeypatch, capsys):
        def perform(name, size, out):
            done.append(name)
            if name == "small_data":
                raise NoArchive("no archive")

        done = []
        monkeypatch.setattr(main_module, "perform", perform)
        monkeypatch.setattr(sys, "argv", ["experiments", "all", "--out", str(tmp_path)])
        main_module.main()
        assert done == list(EXPERIMENTS)
        assert "Left out: no archive" in capsys.readouterr().out


class TestCommitted:
    """The committed results are those of whole runs, and say what their rows say."""

    @pytest.mark.parametrize("name", NAMES)
    def test_claims_follow_from_the_rows(self, name):
        experiment, page = EXPERIMENTS[name], sections(ROOT / "experiments" / "RESULTS.md")[title(name)]
        assert "--quick" not in page
        rows = read_rows(RESULTS / f"{name}.csv")
        assert page.endswith(f"{markdown(experiment.claims(rows))}\n\n{experiment.RULES}")

    @pytest.mark.parametrize("name", EXPERIMENTS)
    def test_pages_follow_from_the_rows(self, name):
        page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
        for table in EXPERIMENTS[name].tables(read_rows(RESULTS / f"{name}.csv")):
            assert table.markdown() in page

    @pytest.mark.parametrize("name", ["wine", "tuning"])  # with claims, and without
    def test_pages_can_be_written_anew(self, name, tmp_path, monkeypatch):
        expected = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
        shutil.copy(RESULTS / f"{name}.csv", tmp_path)
        (tmp_path / f"{name}.md").write_text("".join(expected.splitlines(keepends=True)[:4]), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["experiments", name, "--pages", "--out", str(tmp_path)])
        main_module.main()
        assert (tmp_path / f"{name}.md").read_text(encoding="utf-8") == expected
        assert (tmp_path / "RESULTS.md").exists() == (name in NAMES)

    @pytest.mark.parametrize("name", NAMES)
    def test_gallery_shows_figures_and_command(self, name):
        stems = figures_of(name, RESULTS)
        assert stems
        for stem in stems:
            assert f"](../experiments/results/{stem}.png)" in GALLERY
            assert (RESULTS / f"{stem}.svg").exists()
        assert re.search(rf"^    python -m experiments {name}\b", GALLERY, flags=re.MULTILINE)
        assert f"\n## {title(name)}\n" in GALLERY

    def test_gallery_shows_nothing_that_is_not_there(self):
        for path in re.findall(r"\]\((\.\./[^)#]+)\)", GALLERY):
            assert (ROOT / "docs" / path).exists(), path
