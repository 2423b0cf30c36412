"""Levels of resolution, coarse to fine, and the maps between them."""

from plisse.hierarchy import decimated, subdivision

__all__ = ["decimated", "subdivision"]  # a kind of hierarchy is known once its module is
