"""Timed comparisons, one a file."""
