"""Generated surfaces: manifold, facing outwards (flat ones upwards), centred at the origin, in metres."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from plisse.core.arrays import Ints, Longs
from plisse.core.errors import SceneError, suggest
from plisse.core.mesh import Mesh
from plisse.core.record import Entry
from plisse.core.values import Choice, Count, Counts, Factors, Flag, Number
from plisse.shapes.parameters import CELLS, LENGTH, MOST, PARAMETERS, SHAPES, check_vertices, shape
from plisse.shapes.patches import (
    ROW,
    bowl_profile,
    can_profile,
    checkerboard,
    cut_cells,
    dome_profile,
    fill_circle,
    hat_profile,
    icosahedron_faces,
    lay_out,
    profile_area,
    quarter,
    revolve,
)
from plisse.shapes.rectangle import DIAGONALS, fill_rectangle
from plisse.shapes.sculpt import BUNNY, BUNNY_BOX, DRAGON, DRAGON_BOX, FINEST, carve
from plisse.shapes.tube import WALLS, lattice_wall, scattered_wall
from plisse.shapes.turned import Vertices, level, turn_profile

AROUND = Count(3, MOST)
# Parameters that several shapes share.
GridCells = Annotated[
    int | tuple[int, int] | None, Counts(CELLS), "cells along the longer side, or two counts, along x and along y"
]
GridVertices = Annotated[
    int | None, Count(4, MOST), "about how many vertices, instead of resolution", "1600 without `resolution`"
]
Cut = Annotated[str, Choice(DIAGONALS), "how cells are cut into triangles"]
Seed = Annotated[int, Count(), "of what is random in jittered and Delaunay meshes"]


@shape
def grid(
    width: Annotated[float, LENGTH, "size along x"] = 1.0,
    height: Annotated[float, LENGTH, "size along y"] = 1.0,
    *,
    resolution: GridCells = None,
    vertices: GridVertices = None,
    diagonals: Cut = "jittered",
    seed: Seed = 0,
) -> Mesh:
    """A width × height rectangle in the xy plane.

    diagonals: "uniform" (all alike), "alternating" (turned from cell to cell), "jittered" (interior vertices
    moved at random, each cell cut along its shorter diagonal: no preferred fold direction), "delaunay" (random
    points, well spread) or "equilateral" (rows of equilateral triangles, halves at their ends).
    """
    return lay_out(fill_rectangle("grid", (width, height), resolution, vertices, diagonals, seed))


@shape
def strip(
    length: Annotated[float, LENGTH, "size along x"] = 1.0,
    width: Annotated[float, LENGTH, "size along y"] = 0.1,
    *,
    resolution: GridCells = None,
    vertices: GridVertices = None,
    diagonals: Cut = "jittered",
    seed: Seed = 0,
) -> Mesh:
    """A long, narrow rectangle in the xy plane, meshed as a grid."""
    return lay_out(fill_rectangle("strip", (length, width), resolution, vertices, diagonals, seed))


@shape
def disc(
    radius: Annotated[float, LENGTH, "of its rim"] = 0.5,
    *,
    hole: Annotated[float | None, LENGTH, "radius of a round hole in its middle"] = None,
    rings: Annotated[int | None, CELLS, "rows of triangles from the centre, or from the hole, to the rim"] = None,
    vertices: Annotated[int | None, Count(7, MOST), "about how many, instead of rings", "1600 without `rings`"] = None,
) -> Mesh:
    """A disc in the xy plane made of a centre and rings of 6, 12, 18 … vertices: 1 + 3 rings (rings + 1).

    With a hole, rings have as many vertices as fit.
    """
    if rings is not None and vertices is not None:
        raise SceneError("A disc takes either rings or vertices: remove one of them.")
    count = 1600 if vertices is None else vertices
    if hole is None:
        check_vertices("disc", 3.0 * (rings or 0) ** 2, asked=True)
        X, triangles, _ = fill_circle(radius, rings or max(1, round((((count - 1) / 3 + 0.25) ** 0.5) - 0.5)))
        return lay_out(Mesh(X, triangles))
    if hole >= radius:
        raise SceneError(
            f"A disc's hole of {hole:g} m is not smaller than its radius of {radius:g} m: make it smaller."
        )
    area = (radius**2 - hole**2) * np.pi
    edge = (area / (ROW * count)) ** 0.5 if rings is None else (radius - hole) / (ROW * rings)
    check_vertices("disc", area / (ROW * edge**2), asked=True)
    return lay_out(revolve(np.array([(hole, 0.0), (radius, 0.0)]), edge))


@shape
def sphere(
    radius: Annotated[float, LENGTH, "of the ball"] = 0.25,
    *,
    subdivisions: Annotated[
        int, Count(most=9, why="each makes four times as many triangles"), "s: 10·4ˢ + 2 vertices"
    ] = 4,
) -> Mesh:
    """An icosahedron subdivided onto the sphere: 10·4ˢ + 2 vertices."""
    golden = (1 + 5**0.5) / 2
    X = np.array([(x, y * golden, 0.0) for x in (-1, 1) for y in (-1, 1)])
    X = np.concatenate((X, X[:, (2, 0, 1)], X[:, (1, 2, 0)]))
    mesh = Mesh(X / np.linalg.norm(X[0]), icosahedron_faces(X))
    for _ in range(subdivisions):
        finer = quarter(mesh)
        finer.X[len(mesh.X) :] /= np.linalg.norm(finer.X[len(mesh.X) :], axis=1, keepdims=True)
        mesh = finer
    return Mesh(radius * mesh.X, mesh.triangles)


@shape
def cylinder(
    radius: Annotated[float, LENGTH, "of its circle"] = 0.25,
    height: Annotated[float, LENGTH, "along z"] = 1.0,
    *,
    around: Annotated[
        int | None, AROUND, "vertices on a circle; a closed one rounds up to a multiple of six", "48"
    ] = None,
    along: Annotated[int | None, CELLS, "cells from bottom to top", "square cells"] = None,
    vertices: Annotated[int | None, Count(50, MOST), "about how many, instead of around and along"] = None,
    diagonals: Annotated[
        str, Choice(WALLS), "of its wall: a lattice, or random points, well spread, that leave lobes free to choose"
    ] = "alternating",
    closed: Annotated[bool, Flag(), "with plain lids"] = True,
    seed: Seed = 0,
) -> Mesh:
    """A cylinder about the z axis, with caps when closed: multiples of six around mesh these evenly.

    An open one has texture coordinates: it is unrolled from an angle of 0 on, its circumference from 0 to 1.
    """
    if vertices is not None and (around is not None or along is not None):
        raise SceneError("A cylinder takes either vertices or around and along: remove one of them.")
    if vertices is not None:
        area = 2 * np.pi * radius * (height + (radius if closed else 0.0))
        around = max(6, round(2 * np.pi * radius * (vertices / area) ** 0.5))
    around = 48 if around is None else around
    if closed:
        around = 6 * -(-around // 6)
    cells = max(1.0, height * around / (2 * np.pi * radius)) if along is None else along
    check_vertices("cylinder", (cells + 1.0) * around, asked=along is not None or vertices is not None)
    along = round(cells)
    if diagonals == "delaunay":
        places, side, corners = scattered_wall(around, along, height / along * around / (2 * np.pi * radius), seed)
    else:
        places, side, corners = lattice_wall(around, along)
    angle = 2 * np.pi * places[:, 0] / around
    X = np.stack((radius * np.cos(angle), radius * np.sin(angle), height * (places[:, 1] / along - 0.5)), axis=1)
    if not closed:
        uv = np.stack((corners[..., 0] / around, height / (2 * np.pi * radius) * corners[..., 1] / along), axis=2)
        return Mesh(X, side, uv)

    cap, cap_triangles, rim = fill_circle(radius, around // 6)
    inner = np.setdiff1d(np.arange(len(cap)), rim)
    points, faces = [X], [side]
    lower, upper = np.arange(around), np.arange(len(X) - around, len(X))
    for circle, z, flip in ((upper, height / 2, False), (lower, -height / 2, True)):
        renumber = np.empty(len(cap), dtype=np.int32)
        renumber[rim] = circle
        renumber[inner] = np.arange(len(inner)) + sum(map(len, points))
        points.append(cap[inner] + (0.0, 0.0, z))
        faces.append(renumber[cap_triangles[:, ::-1] if flip else cap_triangles])
    return Mesh(np.concatenate(points), np.concatenate(faces))


@shape
def can(
    radius: Annotated[float, LENGTH, "of its circle"] = 0.033,
    height: Annotated[float, LENGTH, "along z, lids included"] = 0.115,
    rounding: Annotated[
        float | None, LENGTH, "radius of the lids' rounded edges", "a tenth of `radius`, or of `height` if that is less"
    ] = None,
    *,
    vertices: Vertices = 1600,
) -> Mesh:
    """A drinks can about the z axis: a closed cylinder with level lids and rounded edges."""
    rounding = 0.1 * min(radius, height) if rounding is None else rounding
    if rounding > 0.5 * min(2.0 * radius, height):
        raise SceneError(f"A can's rounding must be at most its radius and half its height, not {rounding:g}.")
    return turn_profile("can", can_profile(radius, height, rounding), vertices)


@shape
def dome(
    radius: Annotated[float, LENGTH, "of its rim"] = 0.25,
    height: Annotated[float | None, LENGTH, "from rim to top", "half a sphere"] = None,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A spherical cap, open below."""
    return turn_profile("dome", dome_profile(radius, radius if height is None else height), vertices)


@shape
def cone(
    radius: Annotated[float, LENGTH, "of its rim"] = 0.15,
    height: Annotated[float, LENGTH, "from rim to tip"] = 0.3,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A cone with its tip above, open below."""
    # as many triangles at the tip as 60° fit into a full turn of the cone laid flat, 2π r/s
    fewest = int(np.clip(round(6.0 * radius / float(np.hypot(radius, height))), 3, 6))
    return turn_profile("cone", np.array([(0.0, height), (radius, 0.0)]), vertices, fewest=fewest)


@shape
def box(
    size: Annotated[float | tuple[float, float, float], Factors("m"), "one length, or three along x, y and z"] = 0.5,
    *,
    resolution: Annotated[int, CELLS, "cells along the longest side, the others in proportion"] = 10,
) -> Mesh:
    """A box."""
    lengths = np.array(size) * np.ones(3)
    cells = np.maximum(1, np.round(resolution * lengths / lengths.max())).astype(np.int64)
    check_vertices("box", 2.0 * float(cells @ np.roll(cells, 1)), asked=True)
    lattice: list[Longs] = []
    faces: list[Ints] = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for far in (False, True):
            points = np.empty((cells[v] + 1, cells[u] + 1, 3), dtype=np.int64)
            points[..., axis] = cells[axis] if far else 0
            points[..., u] = np.arange(cells[u] + 1)
            points[..., v] = np.arange(cells[v] + 1)[:, None]
            index = np.arange(points.size // 3).reshape(points.shape[:2]) + sum(map(len, lattice))
            cut = cut_cells(index, checkerboard(cells[v], cells[u]))
            lattice.append(points.reshape(-1, 3))
            faces.append(cut if far else cut[:, ::-1])
    corners, renumber = np.unique(np.concatenate(lattice), axis=0, return_inverse=True)
    triangles = renumber.reshape(-1)[np.concatenate(faces)]
    return Mesh(lengths * (corners / cells - 0.5), triangles.astype(np.int32))


@shape
def torus(
    major: Annotated[float, LENGTH, "radius of its circle"] = 0.3,
    minor: Annotated[float, LENGTH, "radius of its tube"] = 0.1,
    *,
    around: Annotated[int, AROUND, "vertices along its circle"] = 64,
    across: Annotated[int, AROUND, "vertices around its tube"] = 24,
) -> Mesh:
    """A torus about the z axis."""
    if minor >= major:
        raise SceneError(
            f"A torus with minor = {minor:g} and major = {major:g} intersects itself: make minor smaller than major."
        )
    check_vertices("torus", around * across, asked=True)
    turn = 2 * np.pi * np.arange(around) / around
    tube = (2 * np.pi * np.arange(across) / across)[:, None]
    X = np.empty((across, around, 3))
    X[..., 0] = (major + minor * np.cos(tube)) * np.cos(turn)
    X[..., 1] = (major + minor * np.cos(tube)) * np.sin(turn)
    X[..., 2] = minor * np.sin(tube)
    index = np.pad(np.arange(across * around).reshape(across, around), ((0, 1), (0, 1)), mode="wrap")
    return Mesh(X.reshape(-1, 3), cut_cells(index, checkerboard(across, around)))


@shape
def bunny(
    size: Annotated[float, LENGTH, "its height, which is its largest extent"] = 0.5,
    *,
    resolution: Annotated[int, Count(32, FINEST), "cells along it"] = 40,
) -> Mesh:
    """A sitting bunny that looks along x."""
    return carve(BUNNY, BUNNY_BOX, size, resolution)


@shape
def dragon(
    size: Annotated[float, LENGTH, "its length, which is its largest extent"] = 0.8,
    *,
    resolution: Annotated[int, Count(40, FINEST), "cells along it"] = 48,
) -> Mesh:
    """A dragon with wings that looks along x."""
    return carve(DRAGON, DRAGON_BOX, size, resolution)


@shape
def bowl(
    radius: Annotated[float, LENGTH, "of its outer side"] = 0.2,
    depth: Annotated[float, LENGTH, "of its outer side; the rim's rounding stands half a thickness above"] = 0.12,
    thickness: Annotated[float, LENGTH, "of its wall"] = 0.02,
    *,
    resolution: Annotated[int, Count(12, MOST), "vertices around the rim"] = 72,
) -> Mesh:
    """A round bowl with a level foot and a rounded rim, open above."""
    if thickness > 0.5 * min(radius, depth):
        raise SceneError(f"A bowl's thickness must be at most half its radius and depth, not {thickness:g}.")
    edge = 2.0 * np.pi * radius / resolution
    profile = bowl_profile(radius, depth, thickness)
    check_vertices("bowl", profile_area(profile) / (ROW * edge**2), asked=False)
    return level(revolve(profile, edge))


@shape
def hat(
    radius: Annotated[float, LENGTH, "of the crown"] = 0.1,
    height: Annotated[float, LENGTH, "of the crown"] = 0.12,
    brim: Annotated[float, LENGTH, "width of the brim"] = 0.08,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A hat: a rounded crown with a brim around it; open below."""
    return turn_profile("hat", hat_profile(radius, height, brim), vertices)


# Shapes of their own modules, which are listed after the plain ones.
from plisse.shapes import hollow, solids, star, toys  # noqa: E402, F401

# of a collider's shape "floor", which is a half-space and no mesh
FLOOR_HEIGHT = Entry("height", Number("m"), "of the level plane", None, "below everything else")


def shape_parameters(name: str) -> dict[str, Entry]:
    """What the named shape takes."""
    if name not in SHAPES:
        raise SceneError(f'There is no shape "{name}"{suggest(name, SHAPES)}: choose from {", ".join(SHAPES)}.')
    return PARAMETERS[name]


def make_shape(name: str, parameters: Mapping[str, Any], *, seed: int = 0) -> Mesh:
    """The named shape with these parameters, lengths in metres or as "30 cm".

    `seed` serves the random shapes that set none of their own.
    """
    known = shape_parameters(name)
    for key in parameters:
        if key not in known:
            listing = ", ".join(known)
            raise SceneError(f'A {name} has no parameter "{key}"{suggest(key, known)}: choose from {listing}.')
    common = {"seed": seed} if "seed" in known else {}
    return SHAPES[name](**{**common, **parameters})
