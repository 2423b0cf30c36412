"""Closest points of a point and a triangle, and of two edges, with exact weights on the boundary.

Weights are exactly 0 or 1 whenever the closest point lies on an edge or a vertex, so callers can read
the active feature from them. All kernels take scalars and allocate nothing. Lengths in metres.
"""

from plisse.kernels.jit import kernel

SLIVER = 1e-10  # sin² of the angle below which the interior solution is checked against the boundary


@kernel
def point_segment(
    px: float, py: float, pz: float, ax: float, ay: float, az: float, bx: float, by: float, bz: float
) -> tuple[float, float]:
    """Squared distance [m²] of p and the segment ab, and the weight of b in the closest point."""
    ex, ey, ez = bx - ax, by - ay, bz - az
    length2 = ex * ex + ey * ey + ez * ez
    along = (px - ax) * ex + (py - ay) * ey + (pz - az) * ez
    if along <= 0.0 or length2 == 0.0:
        t = 0.0
        rx, ry, rz = px - ax, py - ay, pz - az
    elif along >= length2:
        t = 1.0
        rx, ry, rz = px - bx, py - by, pz - bz
    else:
        t = along / length2
        rx, ry, rz = px - ax - t * ex, py - ay - t * ey, pz - az - t * ez
    return rx * rx + ry * ry + rz * rz, t


@kernel
def point_triangle(
    px: float,
    py: float,
    pz: float,
    ax: float,
    ay: float,
    az: float,
    bx: float,
    by: float,
    bz: float,
    cx: float,
    cy: float,
    cz: float,
) -> tuple[float, float, float, float]:
    """Squared distance [m²] of p and the triangle abc, and the weights of a, b, c in the closest point.

    Voronoi regions of the triangle by signed areas ([Ericson2004] §5.1.5); slivers take the best of the
    interior solution and the three edges, since every convex combination bounds the distance from above.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    qx, qy, qz = px - ax, py - ay, pz - az
    d1 = ux * qx + uy * qy + uz * qz
    d2 = vx * qx + vy * qy + vz * qz
    if d1 <= 0.0 and d2 <= 0.0:
        return qx * qx + qy * qy + qz * qz, 1.0, 0.0, 0.0
    sx, sy, sz = px - bx, py - by, pz - bz
    d3 = ux * sx + uy * sy + uz * sz
    d4 = vx * sx + vy * sy + vz * sz
    if d3 >= 0.0 and d4 <= d3:
        return sx * sx + sy * sy + sz * sz, 0.0, 1.0, 0.0
    wx, wy, wz = px - cx, py - cy, pz - cz
    d5 = ux * wx + uy * wy + uz * wz
    d6 = vx * wx + vy * wy + vz * wz
    if d6 >= 0.0 and d5 <= d6:
        return wx * wx + wy * wy + wz * wz, 0.0, 0.0, 1.0
    # the areas opposite c, b and a, times the triangle's own
    area_c = d1 * d4 - d3 * d2
    area_b = d5 * d2 - d1 * d6
    area_a = d3 * d6 - d5 * d4
    total = area_a + area_b + area_c
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    interior = area_a > 0.0 and area_b > 0.0 and area_c > 0.0
    if total > SLIVER * uu * vv:
        if area_c <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
            dist, t = point_segment(px, py, pz, ax, ay, az, bx, by, bz)
            return dist, 1.0 - t, t, 0.0
        if area_b <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
            dist, t = point_segment(px, py, pz, ax, ay, az, cx, cy, cz)
            return dist, 1.0 - t, 0.0, t
        if area_a <= 0.0 and d4 >= d3 and d5 >= d6:
            dist, t = point_segment(px, py, pz, bx, by, bz, cx, cy, cz)
            return dist, 0.0, 1.0 - t, t
        if interior:
            wb = area_b / total
            wc = area_c / total
            wa = 1.0 - wb - wc
            if wa > 0.0:
                rx = qx - wb * ux - wc * vx
                ry = qy - wb * uy - wc * vy
                rz = qz - wb * uz - wc * vz
                return rx * rx + ry * ry + rz * rz, wa, wb, wc
    # slivers, and regions that rounding left undecided
    best, t = point_segment(px, py, pz, ax, ay, az, bx, by, bz)
    wa, wb, wc = 1.0 - t, t, 0.0
    dist, t = point_segment(px, py, pz, ax, ay, az, cx, cy, cz)
    if dist < best:
        best, wa, wb, wc = dist, 1.0 - t, 0.0, t
    dist, t = point_segment(px, py, pz, bx, by, bz, cx, cy, cz)
    if dist < best:
        best, wa, wb, wc = dist, 0.0, 1.0 - t, t
    if interior:
        tb, tc = area_b / total, area_c / total
        rx = qx - tb * ux - tc * vx
        ry = qy - tb * uy - tc * vy
        rz = qz - tb * uz - tc * vz
        dist = rx * rx + ry * ry + rz * rz
        if dist < best and 1.0 - tb - tc > 0.0:
            best, wa, wb, wc = dist, 1.0 - tb - tc, tb, tc
    return best, wa, wb, wc


@kernel
def edge_edge(
    ax: float,
    ay: float,
    az: float,
    bx: float,
    by: float,
    bz: float,
    cx: float,
    cy: float,
    cz: float,
    dx: float,
    dy: float,
    dz: float,
) -> tuple[float, float, float]:
    """Squared distance [m²] of the edges ab and cd, and the closest points' parameters s on ab, t on cd.

    The unconstrained minimum clamped in turn ([Ericson2004] §5.1.9); nearly parallel and zero-length edges
    take the best of that and the four end points, since every pair of points bounds the distance from above.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = dx - cx, dy - cy, dz - cz
    rx, ry, rz = ax - cx, ay - cy, az - cz
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    uv = ux * vx + uy * vy + uz * vz
    ur = ux * rx + uy * ry + uz * rz
    vr = vx * rx + vy * ry + vz * rz
    det = uu * vv - uv * uv
    if det > SLIVER * uu * vv:
        # s from the two lines, t from s, then s again where t was clamped
        s = uv * vr - ur * vv
        if s <= 0.0:
            s = 0.0
        elif s >= det:
            s = 1.0
        else:
            s = s / det
        t = uv * s + vr
        if t <= 0.0:
            t = 0.0
            s = 0.0 if ur >= 0.0 else (1.0 if -ur >= uu else -ur / uu)
        elif t >= vv:
            t = 1.0
            s = 0.0 if uv - ur <= 0.0 else (1.0 if uv - ur >= uu else (uv - ur) / uu)
        else:
            t = t / vv
        rx += s * ux - t * vx
        ry += s * uy - t * vy
        rz += s * uz - t * vz
        return rx * rx + ry * ry + rz * rz, s, t
    s = 0.0
    best, t = point_segment(ax, ay, az, cx, cy, cz, dx, dy, dz)
    dist, w = point_segment(bx, by, bz, cx, cy, cz, dx, dy, dz)
    if dist < best:
        best, s, t = dist, 1.0, w
    dist, w = point_segment(cx, cy, cz, ax, ay, az, bx, by, bz)
    if dist < best:
        best, s, t = dist, w, 0.0
    dist, w = point_segment(dx, dy, dz, ax, ay, az, bx, by, bz)
    if dist < best:
        best, s, t = dist, w, 1.0
    if det > 0.0:
        si = (uv * vr - ur * vv) / det
        ti = (uu * vr - uv * ur) / det
        if 0.0 < si < 1.0 and 0.0 < ti < 1.0:
            rx += si * ux - ti * vx
            ry += si * uy - ti * vy
            rz += si * uz - ti * vz
            dist = rx * rx + ry * ry + rz * rz
            if dist < best:
                best, s, t = dist, si, ti
    return best, s, t
