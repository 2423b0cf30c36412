"""Scenes to potentials, and the generators that walk them to a result."""
