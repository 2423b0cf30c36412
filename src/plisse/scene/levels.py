"""How many levels of resolution there are, and how a coarse one stands in for the finest."""

from dataclasses import dataclass, fields, replace

from plisse.core.errors import SceneError
from plisse.scene.values import as_choice, as_count, as_number, settle

PROLONGATIONS = ("linear", "loop")
METHODS = ("progressive", "cascadic", "direct", "plain")
PRECONDITIONERS = ("level", "galerkin")
MOST = 8  # levels


@dataclass(frozen=True)
class Proxy:
    """What of `Levels` a preset fills in where the scene says nothing."""

    prolongation: str
    compression: float | str
    bending: float | str
    coarse_tol: float


# "paper" is the method as printed [Zhang2022]
PRESETS = {
    "predictive": Proxy(prolongation="linear", compression="auto", bending="auto", coarse_tol=0.15),
    "paper": Proxy(prolongation="loop", compression=1.0, bending=1.0, coarse_tol=1.0),
}


@dataclass(frozen=True)
class Levels:
    """Levels of resolution, the scene's own meshes being the coarsest, each next one four times as many triangles.

    method: "progressive" (preview and refine with the proxy below), "cascadic" (the same with every level's plain
    energy), "direct" (one level alone, one Newton iteration a step) or "plain" (the same, every step solved).
    prolongation: of a coarse level to the finest, for its elasticity; curved rest shapes always take "loop".
    compression: part of the membrane's compressive stiffness that is kept below the finest level.
    bending: factor on the bending stiffness for every level below the finest.
    Both may be "auto": as much as the level's edges are longer than the folds that gravity would make.
    proxy_levels_up: levels above its own on which a level's elasticity is evaluated; the finest when not given.
    preconditioner: Hessian of the level's own mesh, or the Galerkin product of one level up.
    coarse_tol: tolerance below the finest level, as a part of solver.tol.
    """

    kind: str = "loop"
    levels: int = 1
    method: str = "progressive"
    preset: str = "predictive"
    prolongation: str | None = None
    compression: float | str | None = None
    bending: float | str | None = None
    proxy_levels_up: int | None = None
    preconditioner: str = "level"
    coarse_tol: float | None = None

    def __post_init__(self) -> None:
        settle(
            self,
            kind=as_choice("kind", self.kind, ("loop",)),
            levels=as_count("levels", self.levels, least=1),
            method=as_choice("method", self.method, METHODS),
            preset=as_choice("preset", self.preset, tuple(PRESETS)),
            preconditioner=as_choice("preconditioner", self.preconditioner, PRECONDITIONERS),
        )
        if self.levels > MOST:
            raise SceneError(
                f"levels must be at most {MOST}, not {self.levels}: each has four times as many triangles."
            )
        if self.prolongation is not None:
            settle(self, prolongation=as_choice("prolongation", self.prolongation, PROLONGATIONS))
        for key in ("compression", "bending", "coarse_tol"):
            value = getattr(self, key)
            if value is not None and (value != "auto" or key == "coarse_tol"):
                name = key if key == "coarse_tol" else f'{key} (or "auto")'
                settle(self, **{key: as_number(name, value, above=0)})
        if isinstance(self.compression, float) and self.compression > 1:
            raise SceneError(f"compression must be at most 1, not {self.compression:g}.")
        if self.proxy_levels_up is not None:
            settle(self, proxy_levels_up=as_count("proxy_levels_up", self.proxy_levels_up))

    @property
    def proxy(self) -> Proxy:
        """What stands in for the finest level: the scene's own words, else the preset's."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(Proxy)}
        return replace(PRESETS[self.preset], **{name: value for name, value in said.items() if value is not None})
