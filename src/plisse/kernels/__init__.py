"""Compiled element loops: arrays in, arrays out."""
