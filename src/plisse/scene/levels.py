"""How many levels of resolution there are, and how a coarse one stands in for the finest."""

from dataclasses import dataclass

from plisse.core.errors import SceneError
from plisse.scene.values import as_choice, as_count, as_number, settle

PROLONGATIONS = ("linear", "loop")
METHODS = ("progressive", "cascadic", "direct", "plain")
PRECONDITIONERS = ("level", "galerkin")
# what a preset fills in where the scene says nothing; "paper" is the method as printed [Zhang2022]
PRESETS: dict[str, dict[str, float | str]] = {
    "predictive": {"prolongation": "linear", "compression": 0.03, "bending": 1.0, "coarse_tol": 0.2},
    "paper": {"prolongation": "loop", "compression": 1.0, "bending": 1.0, "coarse_tol": 1.0},
}


@dataclass(frozen=True)
class Levels:
    """Levels of resolution, the scene's own meshes being the coarsest, each next one four times as many triangles.

    method: "progressive" (preview and refine with the proxy below), "cascadic" (the same with every level's plain
    energy), "direct" (one level alone, one Newton iteration a step) or "plain" (the same, every step solved).
    prolongation: of a coarse level to the finest, for its elasticity; curved rest shapes always take "loop".
    compression: part of the membrane's compressive stiffness that is kept below the finest level.
    bending: factor on the bending stiffness for every level below the finest.
    proxy_levels_up: levels above its own on which a level's elasticity is evaluated; the finest when not given.
    preconditioner: Hessian of the level's own mesh, or the Galerkin product of one level up.
    coarse_tol: tolerance below the finest level, as a part of solver.tol.
    """

    kind: str = "loop"
    levels: int = 1
    method: str = "progressive"
    preset: str = "predictive"
    prolongation: str | None = None
    compression: float | None = None
    bending: float | None = None
    proxy_levels_up: int | None = None
    preconditioner: str = "level"
    coarse_tol: float | None = None

    def __post_init__(self) -> None:
        preset = PRESETS[as_choice("preset", self.preset, tuple(PRESETS))]
        for key, value in preset.items():
            if getattr(self, key) is None:
                settle(self, **{key: value})
        settle(
            self,
            kind=as_choice("kind", self.kind, ("loop",)),
            levels=as_count("levels", self.levels, least=1),
            method=as_choice("method", self.method, METHODS),
            prolongation=as_choice("prolongation", self.prolongation, PROLONGATIONS),
            compression=as_number("compression", self.compression, above=0),
            bending=as_number("bending", self.bending, above=0),
            preconditioner=as_choice("preconditioner", self.preconditioner, PRECONDITIONERS),
            coarse_tol=as_number("coarse_tol", self.coarse_tol, above=0),
        )
        if self.levels > 8:
            raise SceneError(f"levels must be at most 8, not {self.levels}: each has four times as many triangles.")
        assert self.compression is not None
        if self.compression > 1:
            raise SceneError(f"compression must be at most 1, not {self.compression:g}.")
        if self.proxy_levels_up is not None:
            settle(self, proxy_levels_up=as_count("proxy_levels_up", self.proxy_levels_up))
