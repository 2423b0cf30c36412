"""Quadrics of vertices: what it costs to move a vertex away from planes and lines that are known up to some noise.

A row holds xx, xy, xz, yy, yz, zz of A, then b, then c: Q(x) = xᵀAx − 2 bᵀx + c. Positions are relative to an origin
near the mesh, because c is a difference of squares.
"""

import numpy as np

from plisse.kernels.jit import kernel


@kernel
def add_plane(q, n, p, weight, noise):
    """Add weight ((n·(x − p))² + noise² |x − p|²): the mean over planes whose normals scatter about n.

    [Trettner2020], normals with isotropic variance, the point certain.
    """
    s = noise * noise
    d = n[0] * p[0] + n[1] * p[1] + n[2] * p[2]
    q[0] += weight * (n[0] * n[0] + s)
    q[1] += weight * n[0] * n[1]
    q[2] += weight * n[0] * n[2]
    q[3] += weight * (n[1] * n[1] + s)
    q[4] += weight * n[1] * n[2]
    q[5] += weight * (n[2] * n[2] + s)
    for k in range(3):
        q[6 + k] += weight * (n[k] * d + s * p[k])
    q[9] += weight * (d * d + s * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]))


@kernel
def add_line(q, t, p, weight):
    """Add weight times the squared distance to the line through p along the unit vector t."""
    d = t[0] * p[0] + t[1] * p[1] + t[2] * p[2]
    q[0] += weight * (1.0 - t[0] * t[0])
    q[1] -= weight * t[0] * t[1]
    q[2] -= weight * t[0] * t[2]
    q[3] += weight * (1.0 - t[1] * t[1])
    q[4] -= weight * t[1] * t[2]
    q[5] += weight * (1.0 - t[2] * t[2])
    for k in range(3):
        q[6 + k] += weight * (p[k] - t[k] * d)
    q[9] += weight * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - d * d)


@kernel
def fill_quadrics(X, triangles, twin, firm, origin, noise, crease, firmness, quadrics):
    """Quadrics (n, 10) of all vertices: planes of their triangles weighted by area, each tethered at the vertex; lines
    of their curves and creases weighted by length squared.

    firm: further weights of half-edges on curves, zero elsewhere, (3m,). crease: cosine of the angle from which on two
    triangles meet in a crease, which has the further weight `firmness`.
    """
    m = triangles.shape[0]
    p, t = np.empty(3), np.empty(3)
    normals = np.zeros((m, 3))
    for f in range(m):
        a, b, c = triangles[f]
        for k in range(3):
            k1, k2 = (k + 1) % 3, (k + 2) % 3
            normals[f, k] = (X[b, k1] - X[a, k1]) * (X[c, k2] - X[a, k2])
            normals[f, k] -= (X[b, k2] - X[a, k2]) * (X[c, k1] - X[a, k1])
        double = np.sqrt(normals[f, 0] ** 2 + normals[f, 1] ** 2 + normals[f, 2] ** 2)
        if double > 0.0:
            normals[f] /= double
        for k in range(3):
            v = triangles[f, k]
            for axis in range(3):
                p[axis] = X[v, axis] - origin[axis]
            add_plane(quadrics[v], normals[f], p, double / 6.0, noise)
    for h in range(twin.size):
        if not firm[h] > 0.0:
            n, o = normals[h // 3], normals[twin[h] // 3]
            if not n[0] * o[0] + n[1] * o[1] + n[2] * o[2] < crease:
                continue
        v, w = triangles[h // 3, h % 3], triangles[h // 3, (h + 1) % 3]
        square = 0.0
        for axis in range(3):
            p[axis] = X[v, axis] - origin[axis]
            t[axis] = X[w, axis] - X[v, axis]
            square += t[axis] ** 2
        if square > 0.0:
            t /= np.sqrt(square)
        # the boundary has one half-edge, other edges have two
        weight = (firm[h] if firm[h] > 0.0 else firmness) * square * (1.0 if twin[h] < 0 else 0.5)
        add_line(quadrics[v], t, p, weight)
        add_line(quadrics[w], t, p, weight)


@kernel
def evaluate(q, x, y, z):
    """Q at a position; rounding may make it slightly negative where it should be zero."""
    linear = q[6] * x + q[7] * y + q[8] * z
    square = q[0] * x * x + q[3] * y * y + q[5] * z * z + 2.0 * (q[1] * x * y + q[2] * x * z + q[4] * y * z)
    return square - 2.0 * linear + q[9]


@kernel
def find_minimum(q):
    """Where Q is least: A x = b by cofactors; positive definite as long as the noise is not zero."""
    a, b, c, d, e, f = q[0], q[1], q[2], q[3], q[4], q[5]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    D, E, F = a * f - c * c, b * c - a * e, a * d - b * b
    det = a * A + b * B + c * C
    x = (A * q[6] + B * q[7] + C * q[8]) / det
    y = (B * q[6] + D * q[7] + E * q[8]) / det
    z = (C * q[6] + E * q[7] + F * q[8]) / det
    return x, y, z


@kernel
def find_minimum_between(q, p, d):
    """The part t in 0..1 of the way from p to p + d at which Q is least."""
    down = d[0] * q[6] + d[1] * q[7] + d[2] * q[8]
    down -= d[0] * (q[0] * p[0] + q[1] * p[1] + q[2] * p[2])
    down -= d[1] * (q[1] * p[0] + q[3] * p[1] + q[4] * p[2])
    down -= d[2] * (q[2] * p[0] + q[4] * p[1] + q[5] * p[2])
    curved = q[0] * d[0] * d[0] + q[3] * d[1] * d[1] + q[5] * d[2] * d[2]
    curved += 2.0 * (q[1] * d[0] * d[1] + q[2] * d[0] * d[2] + q[4] * d[1] * d[2])
    if not curved > 0.0:
        return 0.5
    return min(max(down / curved, 0.0), 1.0)
