"""How many levels of resolution there are, and how a coarse level stands in for the finest."""

from dataclasses import dataclass, fields, replace

from plisse.core.errors import SceneError
from plisse.core.record import Record, choice, count, number, sizes
from plisse.core.values import Choice

# which each kind of levels has; the first is the default
PROLONGATIONS = {
    "loop": ("linear", "loop"),
    "decimation": ("linear", "smooth", "shell", "printed", "intrinsic", "affine"),
}
# what curved rest shapes have in place of "linear"; decimated ones keep their curvature under every map
CURVED = {"loop": "loop", "decimation": "linear"}
METHODS = ("progressive", "cascadic", "direct", "plain")
MOTIONS = ("velpro", "semi-diagonal", "full-diagonal", "vertical", "direct")
MOST = 16  # levels


@dataclass(frozen=True)
class ProxySettings:
    """The part of `Levels` that a preset fills in where the scene leaves it open."""

    prolongation: str
    compression: float | str
    membrane: float | str
    bending: float | str
    coarse_tol: float


# "paper" is the method as published, by subdivision [Zhang2022] or by decimation [Zhang2023]
PRESETS = {
    "predictive": ProxySettings(
        prolongation="linear", compression="auto", membrane=1.0, bending="auto", coarse_tol=0.15
    ),
    "paper": ProxySettings(prolongation="loop", compression=1.0, membrane=1.0, bending=1.0, coarse_tol=1.0),
}
# what decimation has in place of the presets' prolongations
DECIMATED = {"linear": "linear", "loop": "printed"}


@dataclass(frozen=True)
class Levels(Record):
    """Levels of resolution. By subdivision the scene's own meshes are level 0, the coarsest, and each further level
    splits every triangle into four, so that its edges are half as long; by decimation they are the finest level, and
    the coarser ones are found from them. In dynamics the whole motion is simulated on level 0 first, and then once more
    on every further level, which follows it."""

    kind: str = choice(
        "how levels are made. `\"loop\"`: by subdivision; boundary vertices stay, boundary edges are split in the "
        "middle. `\"decimation\"`: from meshes of any kind by collapsing edges",
        tuple(PROLONGATIONS), default="loop",
    )  # fmt: skip
    levels: int | tuple[int, ...] = sizes(
        "number of levels; or for decimation the numbers of vertices, of all shells together, that the levels below "
        "the finest are to have, e.g. `[1500, 6000]` for three levels",
        default=1, least=1, most=MOST, why="each has four times as many triangles",
    )  # fmt: skip
    ratio: float = number(
        None, "decimation: how many times as many vertices each level has as the next coarser one", default=4.0, above=1
    )
    method: str = choice(
        "preview and refine with the proxy below; the same with each level's plain energy and midpoints as the next "
        "start [Umetani2011], in dynamics every level directly simulated by itself; a single level, one Newton "
        "iteration per step; the same, each step solved",
        METHODS, default="progressive",
    )  # fmt: skip
    preset: str = choice(
        "defaults of the next four keys and of `coarse_tol`; `\"paper\"` is the method as published [Zhang2022]",
        tuple(PRESETS), default="predictive",
    )  # fmt: skip
    prolongation: str | None = choice(
        "map from a coarse level to finer ones: for its elasticity and for the start of the next level. By "
        "subdivision: midpoints or Loop's rule, also for the finer rest shapes; curved rest shapes always use Loop's "
        "rule, unless they are cloth that could be cut from a flat piece; those with seams use midpoints. By "
        "decimation: with `\"linear\"` elasticity is that of the coarse mesh itself; with the others it is that of "
        "the finest mesh, whose vertices ride on the coarse triangles with offsets that turn with these: `\"shell\"` "
        "[Zhang2023], `\"smooth\"` on a rounded surface, `\"printed\"` with forces that ignore the turning, as "
        "published; `\"intrinsic\"` and `\"affine\"` are baselines",
        tuple(dict.fromkeys(name for names in PROLONGATIONS.values() for name in names)),
        default=None, shown='`"linear"` (`"paper"`: `"loop"`, decimation `"printed"`)',
    )  # fmt: skip
    compression: float | str | None = number(
        None,
        "fraction of the membrane's resistance to compression that levels below the finest keep; rest shapes that use "
        "Loop's rule because they are curved keep all of it",
        default=None, shown='`"auto"` (`"paper"`: `1`)', also=(Choice(("auto",)),), above=0,
    )  # fmt: skip
    membrane: float | str | None = number(
        None,
        "part of the membrane's stiffness that levels below the finest keep. `\"auto\"` softens thin curved shells, by "
        "decimation and in statics, whose coarse triangles cannot fold without strain, but none that has a `pressure`: "
        "previews of crushed metal then carry about the right load, and take more iterations",
        default=None, shown="`1`", also=(Choice(("auto",)),), above=0,
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

    motion: str = choice(
        "dynamics: what a finer level's step expects. Its own positions and the velocities of the level below "
        "[Zhang2025]; both of the level below [Zhang2024], which breaks beyond some seven levels; the same in a stable "
        "form [Zhang2025]; where the level below is at the end of the step, a baseline whose details pop; or its own, "
        "so that levels with the proxy below move independently of each other, another baseline",
        MOTIONS, default="velpro",
    )  # fmt: skip
    consistency: float | None = number(
        None,
        "dynamics: w of the pull w/h² with which a finer level is drawn to where the level below is at the end of "
        "each step",
        default=None, shown='1 with `motion = "velpro"`, else 0', least=0,
    )  # fmt: skip

    def check(self) -> None:
        for key in ("compression", "membrane"):
            part = getattr(self, key)
            if isinstance(part, float) and part > 1:
                raise SceneError(f"{key} must be at most 1, not {part:g}.")
        if self.kind == "loop" and isinstance(self.levels, tuple):
            raise SceneError(
                'levels must be a whole number where levels are made by subdivision: give that, or kind = "decimation".'
            )
        known = PROLONGATIONS[self.kind]
        if self.prolongation is not None and self.prolongation not in known:
            listing = ", ".join(f'"{name}"' for name in known)
            raise SceneError(
                f'prolongation = "{self.prolongation}" does not go with kind = "{self.kind}": choose from {listing}.'
            )

    @property
    def pull(self) -> float:
        """w of the pull to the level below in dynamics."""
        if self.consistency is not None:
            return self.consistency
        return 1.0 if self.motion == "velpro" else 0.0

    @property
    def count(self) -> int:
        """Number of levels."""
        return self.levels if isinstance(self.levels, int) else len(self.levels) + 1

    def targets(self, vertices: int) -> tuple[int, ...]:
        """Vertices of all shells on the levels below the finest, coarse to fine, where they have so many there."""
        if isinstance(self.levels, tuple):
            return self.levels
        return tuple(max(round(vertices / self.ratio**below), 1) for below in range(self.levels - 1, 0, -1))

    @property
    def proxy(self) -> ProxySettings:
        """What stands in for the finest level: the scene's own values, otherwise the preset's."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(ProxySettings)}
        preset = PRESETS[self.preset]
        if self.kind == "decimation":
            preset = replace(preset, prolongation=DECIMATED[preset.prolongation])
        return replace(preset, **{name: value for name, value in said.items() if value is not None})
