"""Projected Newton and the linear solvers behind it."""
