"""The one exception that a user's mistake raises."""

from collections.abc import Iterable
from difflib import get_close_matches


class SceneError(Exception):
    """An impossible or misspelt scene; its message is one sentence that names the culprit and the remedy."""


def counted(count: int, thing: str) -> str:
    """A number with what it counts: "1 step", "3 steps"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def suggest(word: str, known: Iterable[str]) -> str:
    """The closest known word in parentheses, or nothing: ' (did you mean "friction"?)'."""
    near = get_close_matches(word, list(known), n=1)
    return f' (did you mean "{near[0]}"?)' if near else ""
