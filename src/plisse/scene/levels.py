"""How many levels of resolution there are, and how a coarse level stands in for the finest."""

from dataclasses import dataclass, fields, replace

from plisse.core.errors import SceneError
from plisse.core.record import Record, choice, count, number
from plisse.core.values import Choice

PROLONGATIONS = ("linear", "loop")
METHODS = ("progressive", "cascadic", "direct", "plain")
MOST = 16  # levels


@dataclass(frozen=True)
class ProxySettings:
    """The part of `Levels` that a preset fills in where the scene leaves it open."""

    prolongation: str
    compression: float | str
    bending: float | str
    coarse_tol: float


# "paper" is the method as published [Zhang2022]
PRESETS = {
    "predictive": ProxySettings(prolongation="linear", compression="auto", bending="auto", coarse_tol=0.15),
    "paper": ProxySettings(prolongation="loop", compression=1.0, bending=1.0, coarse_tol=1.0),
}


@dataclass(frozen=True)
class Levels(Record):
    """Levels of resolution: the scene's own meshes are level 0, the coarsest, and each further level splits every
    triangle into four, so that its edges are half as long. A dynamic scene has one level."""

    kind: str = choice(
        "how levels are made; boundary vertices stay, boundary edges are split in the middle", ("loop",), default="loop"
    )
    levels: int = count("number of levels", default=1, least=1, most=MOST, why="each has four times as many triangles")
    method: str = choice(
        "preview and refine with the proxy below; the same with each level's plain energy and midpoints as the next "
        "start [Umetani2011]; a single level, one Newton iteration per step; the same, each step solved",
        METHODS, default="progressive",
    )  # fmt: skip
    preset: str = choice(
        "defaults of the next three keys and of `coarse_tol`; `\"paper\"` is the method as published [Zhang2022]",
        tuple(PRESETS), default="predictive",
    )  # fmt: skip
    prolongation: str | None = choice(
        "map from a coarse level to finer ones, by midpoints or by Loop's rule: for its elasticity, for the start of "
        "the next level, and for the finer rest shapes; curved rest shapes always use Loop's rule, unless they are "
        "cloth that could be cut from a flat piece; those with seams use midpoints",
        PROLONGATIONS, default=None, shown='`"linear"` (`"paper"`: `"loop"`)',
    )  # fmt: skip
    compression: float | str | None = number(
        None,
        "fraction of the membrane's resistance to compression that levels below the finest keep; rest shapes that use "
        "Loop's rule because they are curved keep all of it",
        default=None, shown='`"auto"` (`"paper"`: `1`)', also=(Choice(("auto",)),), above=0,
    )  # fmt: skip
    bending: float | str | None = number(
        None,
        "bending of levels below the finest: a number b makes it bᵏ times as stiff, where elasticity is evaluated k "
        "levels up",
        default=None, shown='`"auto"` (`"paper"`: `1`)', also=(Choice(("auto",)),), above=0,
    )  # fmt: skip
    proxy_levels_up: int | None = count(
        "how many levels above its own a level's elasticity is evaluated, at most up to the finest",
        default=None, shown="up to the finest level",
    )  # fmt: skip
    coarse_tol: float | None = number(
        None,
        "tolerance of levels below the finest, as a fraction of `solver.tol`",
        default=None, shown='`0.15` (`"paper"`: `1`)', above=0,
    )  # fmt: skip

    def check(self) -> None:
        if isinstance(self.compression, float) and self.compression > 1:
            raise SceneError(f"compression must be at most 1, not {self.compression:g}.")

    @property
    def proxy(self) -> ProxySettings:
        """What stands in for the finest level: the scene's own values, otherwise the preset's."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(ProxySettings)}
        return replace(PRESETS[self.preset], **{name: value for name, value in said.items() if value is not None})
