"""Runs of experiments from the command line."""

import os
import subprocess
import sys

from paths import ROOT


def run_experiments(*arguments):
    """Return what the run prints; it never has the archive of the Small Data Benchmarks, on whichever machine."""
    environment = {name: value for name, value in os.environ.items() if name != "KDI_UCI_ARCHIVE"}
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-m", "experiments", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1200,
    )
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-5000:]
    return finished.stdout


def cut_off(figure):
    """List what a figure has beyond its edges: axes with their labels and texts, legends, texts of its own."""
    figure.draw_without_rendering()  # places what is laid out
    width, height = figure.bbox.size
    boxes = {f"axes {axes.get_title(loc='left') or axes.get_ylabel()}": axes.get_tightbbox() for axes in figure.axes}
    boxes |= {f"legend {place}": legend.get_window_extent() for place, legend in enumerate(figure.legends)}
    boxes |= {text.get_text(): text.get_window_extent() for text in figure.texts if text.get_text()}
    return [
        name for name, box in boxes.items() if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
