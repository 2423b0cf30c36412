"""Whether a rest shape is flat, or could be cut from a flat piece."""

from __future__ import annotations

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.mesh import Mesh

# A rest shape is flat when no vertex is farther from a plane than this part of its extent: six decimals in a file round
# a cloth of 5 cm by a third of that.
FLAT = 1e-4
# A rest shape is developable when its Gaussian curvature times its size squared, averaged over BLUR of its size, is
# below DEVELOPABLE on MOSTLY of its area: a cone may have a tip. Half a tube of 144 vertices in disorder has 0.02, a
# square that bulges by a twentieth of its side has 0.1, a sphere 4.
DEVELOPABLE, BLUR, MOSTLY = 0.05, 0.15, 0.75
MOST_ROUNDS = 64  # of averaging, which reach over eight edges


def is_flat(mesh: Mesh) -> bool:
    """Whether all rest positions lie in one plane."""
    X = mesh.X if mesh.rest is None else mesh.rest.reshape(-1, 3)
    centred = X - X.mean(axis=0)
    extent = float(np.abs(centred).max())
    normal = np.linalg.svd(centred.T @ centred)[0][:, 2]
    return bool(np.abs(centred @ normal).max() <= FLAT * extent)


def is_developable(mesh: Mesh) -> bool:
    """Whether the rest shape is a flat piece that was rolled or bent without strain, as a tube or a cone is."""
    if mesh.rest is not None:
        return is_flat(mesh)
    size = float(np.linalg.norm(np.ptp(mesh.X, axis=0))) / np.sqrt(3.0)
    rounds = min(int((BLUR * size / mesh.edge_lengths.mean()) ** 2) + 1, MOST_ROUNDS)
    spread = _spread_out(mesh, angle_defects(mesh), rounds=rounds)
    curvature = np.abs(spread) / mesh.vertex_areas * size**2
    gently_curved = mesh.vertex_areas[curvature <= DEVELOPABLE].sum()
    return bool(gently_curved >= MOSTLY * mesh.vertex_areas.sum())


def angle_defects(mesh: Mesh) -> Floats:
    """Integral of the Gaussian curvature about each vertex, 2π less its angles (n,); zero on the boundary."""
    corner = mesh.X[mesh.triangles]
    ahead, behind = np.roll(corner, -1, axis=1) - corner, np.roll(corner, 1, axis=1) - corner
    angles = np.arctan2(np.linalg.norm(np.cross(ahead, behind), axis=2), (ahead * behind).sum(axis=2))
    defects = 2.0 * np.pi - np.bincount(mesh.triangles.ravel(), angles.ravel(), minlength=len(mesh.X))
    defects[mesh.boundary_edges.ravel()] = 0.0
    return np.asarray(defects)


def _spread_out(mesh: Mesh, amount: Floats, *, rounds: int) -> Floats:
    """What there is at each vertex (n,), shared with its neighbours some times over; the sum stays.

    Vertices in disorder have defects of either sign where the surface that they lie on has no curvature.
    """
    i, j = mesh.edges.T
    n = len(amount)
    shares = 1.0 + np.bincount(mesh.edges.ravel(), minlength=n)
    for _ in range(rounds):
        share = amount / shares
        amount = np.asarray(share + np.bincount(i, share[j], minlength=n) + np.bincount(j, share[i], minlength=n))
    return amount
