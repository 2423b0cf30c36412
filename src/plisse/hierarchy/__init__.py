"""Levels of resolution, coarse to fine, and the maps between them."""
