"""The command line."""

from plisse.cli.entry import build_parser, main

__all__ = ["build_parser", "main"]
