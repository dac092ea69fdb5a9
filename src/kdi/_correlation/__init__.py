"""The KD-integral correlation: of two samples, of all columns of a table, in memory and in partitions."""
