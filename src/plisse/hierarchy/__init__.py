"""Levels of resolution, coarse to fine, and the maps between them."""

from plisse.hierarchy import subdivision

__all__ = ["subdivision"]  # a kind of hierarchy is known once its module is
