"""The kernel density integral of a sketch, and lookup maps that evaluate it in constant time per value."""
