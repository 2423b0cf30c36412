"""Parameters of generated shapes: kinds of values as in the rest of a scene file, read from annotations.

A parameter is annotated with its type, its kind and a text, `Annotated[float, LENGTH, "radius of the rim"]`, and where
its default is None with what that means in words.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, get_args

from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.core.record import Entry
from plisse.core.values import Count, Number

P = ParamSpec("P")

LENGTH = Number("m", above=0)
# Counts beyond this are a slip of the keyboard, and would only exhaust the memory.
MOST = 10_000_000
CELLS = Count(least=1, most=MOST)
# Vertices that follow from lengths, and that nobody asked for by their number.
UNASKED = 500_000
# Every shape by its name, and what it takes.
SHAPES: dict[str, Callable[..., Mesh]] = {}
PARAMETERS: dict[str, dict[str, Entry]] = {}


def shape(function: Callable[P, Mesh]) -> Callable[P, Mesh]:
    """Makes a function a shape of that name: it is listed, and its arguments are checked by their kinds."""
    name, signature = function.__name__, inspect.signature(function, eval_str=True)
    known: dict[str, Entry] = {}
    for key, parameter in signature.parameters.items():
        _, kind, text, shown = (*get_args(parameter.annotation), None)[:4]
        required = parameter.default is parameter.empty
        known[key] = Entry(key, kind, text, None if required else parameter.default, shown, required)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Mesh:
        given = signature.bind(*args, **kwargs)
        for key, value in given.arguments.items():
            given.arguments[key] = known[key].check(value, place=f"A {name}'s {key}")
        return function(*given.args, **given.kwargs)

    SHAPES[name], PARAMETERS[name] = checked, known
    return checked


def check_vertices(shape: str, count: float, *, asked: bool) -> None:
    """Refuses meshes of more vertices than make sense; asked: the user gave their number, not lengths alone."""
    if count > (MOST if asked else UNASKED):
        remedy = "give fewer" if asked else "give a number of vertices or cells, or check the units"
        raise SceneError(f"A {shape} of this size would have {count:,.0f} vertices: {remedy}.")
