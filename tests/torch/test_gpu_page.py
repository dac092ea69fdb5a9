"""The pages show the figures that benchmarks.gpu measured, and the outcome that `make test-gpu` reported."""

import json
import re

from pages import read
from paths import ROOT

from benchmarks.gpu_tables import COPY, KDI, KDI_TRANSFORM, MINMAX, QUANTILES
from benchmarks.report import number

ROWS = {
    "1,000,000×100 normal": "normal",
    "1,000,000×100 lognormal": "lognormal",
    "1,000,000×100 Cauchy": "Cauchy",
    "1,000,000×100 normal, alpha = 0.1": "alpha 0.1",
    "1,000,000×100 normal, 5 % NaN": "5 % NaN",
    "1,000,000×100 normal, float64": "float64",
    "200,000×500 normal": "500 columns",
    "100,000,000×10 normal": "tall",
    "10,000×100 normal": "small",
}


def times(case, file="gpu"):
    results = json.loads(read(f"benchmarks/results/{file}.json"))["results"]
    return {name: number(own["median"]) for name, own in results[case]["times"].items()}


def test_times_in_the_guide():
    page = read("docs/torch.md")
    for label, case in ROWS.items():
        own = times(case)
        expected = [own.get(name, "–") for name in (KDI, KDI_TRANSFORM, MINMAX, QUANTILES, COPY)]
        assert f"| {label} | {' | '.join(expected)} |" in page, case
    idle = [times(case, "gpu_idle")[KDI] for case in ("normal", "lognormal", "tall", "small")]
    text = " ".join(page.split())
    assert "the first two rows took {} and {}, the last two {} and {}.".format(*idle) in text


def test_times_for_maintainers():
    page = read("docs/adopting.md")
    labels = {"TabPFN 9.2, `TorchQuantileTransformer`": QUANTILES, "`kdi.torch`": KDI, "torch min-max": MINMAX}
    for label, name in labels.items():
        assert f"| {label} | {times('normal')[name]} | {times('small')[name]} |" in page


def test_outcome_of_the_tests():
    report = (ROOT / "tests" / "torch" / "gpu_report.txt").read_text()
    passed, failed = (int(re.search(rf"(\d+) {outcome}", report)[1]) for outcome in ("passed", "failed"))
    assert f"has {passed:,} tests that passed and {failed} that failed" in " ".join(read("docs/torch.md").split())


def test_times_on_the_first_page():
    tall = {name: round(float(time), 1) for name, time in times("tall").items()}
    assert f"in {tall[KDI]} ms, where torch's min-max takes {tall[MINMAX]}." in " ".join(read("README.md").split())
