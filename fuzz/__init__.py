"""Fuzz targets: functions that turn bytes into a use of kdi, and raise where something is wrong; fuzz/README.md."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
HELPERS = str(HERE.parent / "tests" / "helpers")  # the oracle and the saved models of the tests
if HELPERS not in sys.path:
    sys.path.insert(0, HELPERS)

TARGETS = ["sketch_bytes", "saved_models", "tables", "transformer", "distribution", "correlation", "clusters"]
