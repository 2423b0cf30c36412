"""How a plate's triangles bend: the curvature of each from the angles of the hinges around it.

A side is numbered 3t + c as its half-edge is. Its frame has t along the side, as its triangle walks it, and n out of
the triangle, in the rest shape; a curvature has the components (Λ_tt, Λ_tn, Λ_nn) there, which are the same in the
frames of both sides of an edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from plisse.core.arrays import Bools, Floats, Longs
from plisse.core.mesh import Mesh

# how much of exactness is given up where the hinges around an edge hardly tell its curvature: less is not noticed
# inside of a mesh, more is (1e-2, long thin triangles)
SLACK = 1e-4
OTHERS = ((1, 2), (2, 0), (0, 1))  # the corners from which a triangle's other two sides leave


@dataclass(frozen=True, eq=False)
class Sides:
    """The sides of all triangles at rest; arrays of the shape (m, 3) unless they say otherwise.

    along: edge vectors [m], (m, 3, 3). length, height [m]: of the side and above it. hinge: its hinge, −1 at the
    boundary. bend: angle [rad] from the triangle's plane to a surface of unit curvature through its corners, at the
    middle of the side, for each component of the curvature [rad·m], (m, 3, 3).
    """

    along: Floats
    length: Floats
    height: Floats
    hinge: Longs
    bend: Floats

    @classmethod
    def of(cls, mesh: Mesh) -> Sides:
        corners, (first, second) = mesh.rest_corners, mesh.hinge_half_edges
        along = corners[:, (1, 2, 0)] - corners
        length = np.linalg.norm(along, axis=2)
        height = 2.0 * mesh.triangle_areas[:, None] / length
        # from the middle of the side to the foot of its height
        foot = (along * (corners[:, (2, 0, 1)] - 0.5 * (corners + corners[:, (1, 2, 0)]))).sum(axis=2) / length
        bend = 0.5 * np.stack(((foot**2 - 0.25 * length**2) / height, -2.0 * foot, height), axis=2)
        hinge = np.full(3 * len(mesh.triangles), -1)
        hinge[first] = hinge[second] = np.arange(len(first))
        return cls(along, length, height, hinge.reshape(-1, 3), bend)

    def turned(self, rows: Floats, side: Longs, to: Longs) -> Floats:
        """Rows (k, 3) over the components in the frames of sides (k,), in those of others of the same triangles."""
        along, length = self.along.reshape(-1, 3), self.length.reshape(-1)
        scale = length[side] * length[to]
        c = (along[side] * along[to]).sum(axis=1) / scale
        s = np.where((side - to) % 3 == 1, 1.0, -1.0) * self.height.reshape(-1)[to] * length[to] / scale
        tt, tn, nn = rows.T
        return np.stack(
            (
                c * c * tt + c * s * tn + s * s * nn,
                2.0 * c * s * (nn - tt) + (c * c - s * s) * tn,
                s * s * tt - c * s * tn + c * c * nn,
            ),
            axis=1,
        )


def make_curvature(mesh: Mesh, *, D: Floats, nu: Floats, held: Bools) -> tuple[csr_array, Floats]:
    """The matrix C (3m, q) [√J] with E = ½ ‖C (θ − θ̄)‖², three rows a triangle, and Σ |CᵀC| over its rows (q,) [J].

    D [J], nu (m,): of the plate. held (m,): triangles that do not bend. A triangle's rows are about nine hinges, its
    own and the two others of each of its neighbours. The sum bounds CᵀC: it takes the absolute values of each triangle.
    """
    sides = Sides.of(mesh)
    first, second = mesh.hinge_half_edges
    shares = _shares(sides, first, second, held)
    hinges, angles = np.full((len(held), 9), -1), np.zeros((len(held), 3, 9))
    hinges[:, :3] = sides.hinge
    for own, other, sign in ((first, second, 1.0), (second, first, -1.0)):
        triangle, corner = np.divmod(own, 3)
        near, far = (shares[:, 1:3], shares[:, 3:]) if sign > 0.0 else (shares[:, 3:], shares[:, 1:3])
        # the second side turns by what the first does not
        angles[triangle, corner, corner] = shares[:, 0] if sign > 0.0 else 1.0 - shares[:, 0]
        for k in range(2):
            angles[triangle, corner, np.array(OTHERS)[corner, k]] = sign * near[:, k]
            angles[triangle, corner, 3 + 2 * corner + k] = sign * far[:, k]
            hinges[triangle, 3 + 2 * corner + k] = sides.hinge.reshape(-1)[_other(other, k)]
    stiffness, axes = np.linalg.eigh(_forms(sides, D, nu, held))
    rows = np.sqrt(np.maximum(stiffness, 0.0))[:, :, None] * (axes.transpose(0, 2, 1) @ angles)
    some = hinges >= 0
    sums = np.abs(rows.transpose(0, 2, 1) @ rows).sum(axis=2)
    bound = np.asarray(np.bincount(hinges[some], sums[some], minlength=len(first)), float)
    at = np.broadcast_to(np.arange(3 * len(held)).reshape(-1, 3, 1), rows.shape)
    entries = np.broadcast_to(hinges[:, None, :], rows.shape)[rows != 0.0]
    return csr_array((rows[rows != 0.0], (at[rows != 0.0], entries)), shape=(3 * len(held), len(first))), bound


def _other(side: Longs, k: int) -> Longs:
    """The first or the second of the other two sides of each one's triangle."""
    return side - side % 3 + np.array(OTHERS)[side % 3, k]


def _shares(sides: Sides, first: Longs, second: Longs, held: Bools) -> Floats:
    """What part of the angles of five hinges is the angle φ of each hinge's first side, shape (q, 5).

    They are the hinge itself, the two others of its first triangle, and those of the second. Of all shares with which
    φ is exact for constant curvature, these are the nearest to the hinge's own angle divided as the heights are.
    """
    bend, height = sides.bend.reshape(-1, 3), sides.height.reshape(-1)
    bends = [~held[side // 3] for side in (first, second)]
    angle = bend[first] * bends[0][:, None] + bend[second] * bends[1][:, None]
    rows, known = [angle], [np.ones(len(first), bool)]
    for side, free in zip((first, second), bends, strict=True):
        for k in range(2):
            beside = _other(side, k)
            hinge = sides.hinge.reshape(-1)[beside]
            known.append((hinge >= 0) & free)
            rows.append(sides.turned(angle[hinge], beside, side) * known[-1][:, None])
    both = height[first] + height[second]
    B = np.stack(rows, axis=1) / both[:, None, None]
    out = np.zeros((len(first), 5))
    out[:, 0] = height[first] / both
    short = bend[first] / both[:, None] - (B * out[:, :, None]).sum(axis=1)
    gram = B.transpose(0, 2, 1) @ B
    slack = SLACK / 3.0 * np.trace(gram, axis1=1, axis2=2) + np.finfo(float).tiny
    out += (B @ np.linalg.solve(gram + slack[:, None, None] * np.eye(3), short[:, :, None]))[:, :, 0]
    # at a clamp all of the angle is on the side that bends
    clamp = bends[0] != bends[1]
    out[clamp] = 0.0
    out[clamp, 0] = bends[0][clamp]
    return out


def _forms(sides: Sides, D: Floats, nu: Floats, held: Bools) -> Floats:
    """Matrices [J] of ½ D A ((1 − ν) tr Λ² + ν (tr Λ)²) over the angles φ of the sides (m, 3, 3), Λ = Σ l φ n⊗n / A."""
    unit = sides.along / sides.length[:, :, None]
    cosines = unit @ unit.transpose(0, 2, 1)
    ratio = nu[:, None, None]
    area = 0.5 * sides.length[:, 0] * sides.height[:, 0]
    lengths = sides.length[:, :, None] * sides.length[:, None, :]
    forms = (D / area)[:, None, None] * lengths * ((1.0 - ratio) * cosines**2 + ratio)
    forms[held] = 0.0
    # a free edge turns as it likes, which leaves no moment there
    for c in range(3):
        some = np.flatnonzero((sides.hinge[:, c] < 0) & (forms[:, c, c] > 0.0))
        column = forms[some, :, c]
        forms[some] -= column[:, :, None] * column[:, None, :] / column[:, c, None, None]
        forms[some, c, :] = forms[some, :, c] = 0.0
    return forms
