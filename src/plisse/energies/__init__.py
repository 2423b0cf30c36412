"""Elastic, inertial and load potentials."""
