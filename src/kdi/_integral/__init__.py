"""The kernel density integral of a sketch, and the maps that evaluate it in constant time per value."""
