"""Displays. matplotlib is imported when one is drawn."""
