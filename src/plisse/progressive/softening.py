"""How a coarse level's shells differ from what their materials say, so that they behave as the finest ones do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plisse.core.mesh import Mesh
from plisse.energies.bending import rest_angles
from plisse.progressive.planning import edge_over_fold
from plisse.scene.geometry import Geometry, scene_size
from plisse.scene.scene import Scene, Shell

LEAST_MOVING = 0.1  # part of its compressive stiffness that a level keeps at least in dynamics, under "auto"
WEIGHT_STRAIN = 0.2  # strain under its own weight of a sheet whose wrinkles a level cannot show, in compression
MOST_BENDING = 100.0  # factor on bending that no level exceeds


@dataclass(frozen=True)
class Softening:
    """Of each shell: parts of its membrane's resistance to compression, and to any strain, and a factor on bending."""

    compression: tuple[float, ...]
    membrane: tuple[float, ...]
    bending: tuple[float, ...]

    def of_finer(self, gain: float, nested: tuple[bool, ...]) -> Softening:
        """The same where elasticity is evaluated on a finer mesh; gain: of a hinge's bending on nested flat ones."""
        bending = (f / (gain if flat else 1.0) for f, flat in zip(self.bending, nested, strict=True))
        return Softening(self.compression, self.membrane, tuple(bending))


def soften_compression(scene: Scene, given: Geometry, shell: Shell, kind: str, mesh: Mesh) -> float:
    """Part of its resistance to compression that a shell keeps on a level's mesh.

    With r, the level's mean edge over gravity's bending length: folds of that length are not resolved for r > 1.
    "auto" then keeps s^((r − 1)/2), no less than s, with which the sheet's own weight would compress it by
    WEIGHT_STRAIN.
    """
    asked = scene.hierarchy.proxy.compression
    # a curved rest shape carries its load by compression: it keeps it
    if kind == "curved":
        return 1.0
    if not isinstance(asked, str):
        return asked
    r, s = edge_over_fold(shell, mesh, gravity_of(scene)), least_kept(scene, given, shell)
    auto = s ** min(max((r - 1.0) / 2.0, 0.0), 1.0) if s > 0.0 else 1.0
    # sheets that land on each other slide off where they give way as under their own weight
    return max(auto, LEAST_MOVING) if scene.time.mode == "dynamic" else auto


def soften_membrane(scene: Scene, shell: Shell, kind: str, given: Mesh, mesh: Mesh) -> float:
    """Part of its membrane's stiffness that a shell keeps on a level's mesh.

    Triangles with edges h cannot follow a fold of a shell with the mean curvature κ without strain. "auto" lets go of
    what that takes, as for a shell of the thickness τ in which folds of the length h are natural: it keeps τ / κ h².
    Only by decimation and in statics, and not where an inner pressure stretches a shell: it would stretch it more.
    """
    asked = scene.hierarchy.proxy.membrane
    if not isinstance(asked, str):
        return asked
    by_itself = scene.hierarchy.kind == "decimation" and scene.hierarchy.proxy.prolongation == "linear"
    if kind != "curved" or shell.pressure is not None or not by_itself or scene.time.mode == "dynamic":
        return 1.0
    h = float(mesh.edge_lengths.mean())
    return min(shell.material.thickness / (mean_curvature(given) * h**2), 1.0)


def stiffen_bending(scene: Scene, shell: Shell, mesh: Mesh, *, up: int, stiffens: bool) -> float:
    """Factor on a shell's bending stiffness on a level's mesh; up: levels above it on which it is evaluated.

    Under linear prolongation of flat shells, "auto" makes it r times as stiff, as evaluating it on a mesh with edges of
    gravity's bending length would; Loop's rule is smooth.
    """
    asked = scene.hierarchy.proxy.bending
    if not isinstance(asked, str):
        return asked**up
    r = edge_over_fold(shell, mesh, gravity_of(scene))
    return min(max(1.0, r), MOST_BENDING) if stiffens else 1.0


def least_kept(scene: Scene, given: Geometry, shell: Shell) -> float:
    """Part of the compressive stiffness with which a sheet's own weight compresses it by WEIGHT_STRAIN."""
    m = shell.material
    return min(m.density * gravity_of(scene) * scene_size(given.shells) / (WEIGHT_STRAIN * m.E), 1.0)


def gravity_of(scene: Scene) -> float:
    """[m/s²]"""
    return float(np.linalg.norm(scene.gravity))


def mean_curvature(mesh: Mesh) -> float:
    """The rest shape's mean over its area of |κ₁ + κ₂| [1/m]: angles of hinges times their lengths, over the area."""
    ends = mesh.X[mesh.hinges[:, :2]]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    return float(np.abs(rest_angles(mesh)) @ lengths / mesh.triangle_areas.sum())
