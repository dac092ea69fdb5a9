"""Folders of the repository that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "models"
RESULTS = ROOT / "experiments" / "results"
HELPERS = ROOT / "tests" / "helpers"
