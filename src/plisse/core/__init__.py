"""Meshes, shapes, states and the potential they share."""
