"""The one exception that a user's mistake raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plisse.core.arrays import Floats, Ints, Longs


class SceneError(Exception):
    """An impossible or misspelt scene; its message is one sentence that names the culprit and the remedy.

    What else a kind of error carries are attributes that are plain data, so that it survives pickling.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (type(self), *self.args), vars(self)


def _remake(kind: type[SceneError], *args: Any) -> SceneError:
    """An error of that kind without its __init__, which may ask for more than the message."""
    return kind.__new__(kind, *args)


class StartAgain(SceneError):
    """A changed scene that the states reached so far do not fit, but that can be simulated from its own start."""


class IntersectionError(SceneError):
    """Surfaces that cross each other.

    x: positions of all vertices [m], shape (n, 3). triangles: shape (m, 3); marked: those that take part, shape (k,).
    """

    def __init__(self, message: str, *, x: Floats, triangles: Ints, marked: Longs) -> None:
        super().__init__(message)
        self.x, self.triangles, self.marked = x, triangles, marked


def counted(count: int, thing: str) -> str:
    """A number with what it counts: "1 step", "3 steps"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def suggest(word: str, known: Iterable[str]) -> str:
    """The closest known word in parentheses, or nothing: ' (did you mean "friction"?)'."""
    near = get_close_matches(word, list(known), n=1)
    return f' (did you mean "{near[0]}"?)' if near else ""


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Put the place in front of a SceneError's sentence."""
    try:
        yield
    except SceneError as error:
        # the same error, which may carry more than its words
        error.args = (f"{where}: {error}",)
        raise
