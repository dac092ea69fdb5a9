"""Summaries of columns: `Sketch`, its cells and bytes, and sketches of whole and partitioned tables."""
