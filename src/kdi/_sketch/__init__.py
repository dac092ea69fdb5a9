"""Summaries of columns: `Sketch`, its cells and bytes, and the sketches of arrays and partitioned tables."""
