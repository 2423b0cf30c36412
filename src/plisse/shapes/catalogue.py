"""Generated surfaces: manifold, facing outwards (flat ones upwards), centred at the origin, in metres."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from plisse.core.errors import SceneError, suggest
from plisse.core.mesh import Ints, Mesh
from plisse.shapes.parameters import (
    Length,
    Lengths,
    MaybeLength,
    ShapeField,
    check_count,
    check_length,
    check_vertices,
    convert,
    read_fields,
)
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
    profile_area,
    revolve,
)
from plisse.shapes.rectangle import Diagonals, fill_rectangle
from plisse.shapes.sculpt import BUNNY, BUNNY_BOX, DRAGON, DRAGON_BOX, Field, Vector, polygonise

# Lattices of solids have up to resolution³ points: finer ones would exhaust the memory.
FINEST = 300
# Parameters that several shapes share.
GridCells = Annotated[int | tuple[int, int] | None, "cells along the longer side, or two counts, along x and along y"]
GridVertices = Annotated[int | None, "about how many vertices, instead of resolution (1600 when neither is given)"]
Vertices = Annotated[int, "about how many vertices"]
Cut = Annotated[Diagonals, "how cells are cut into triangles"]
Seed = Annotated[int, "of what is random in jittered and Delaunay meshes"]


def grid(
    width: Annotated[Length, "size along x"] = 1.0,
    height: Annotated[Length, "size along y"] = 1.0,
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
    size = check_length("grid", "width", width), check_length("grid", "height", height)
    return fill_rectangle("grid", size, resolution, vertices, diagonals, seed)


def strip(
    length: Annotated[Length, "size along x"] = 1.0,
    width: Annotated[Length, "size along y"] = 0.1,
    *,
    resolution: GridCells = None,
    vertices: GridVertices = None,
    diagonals: Cut = "jittered",
    seed: Seed = 0,
) -> Mesh:
    """A long, narrow rectangle in the xy plane, meshed as a grid."""
    size = check_length("strip", "length", length), check_length("strip", "width", width)
    return fill_rectangle("strip", size, resolution, vertices, diagonals, seed)


def disc(
    radius: Annotated[Length, "of its rim"] = 0.5,
    *,
    hole: Annotated[MaybeLength, "radius of a round hole in its middle (none when not given)"] = None,
    rings: Annotated[int | None, "rows of triangles from the centre, or from the hole, to the rim"] = None,
    vertices: Annotated[int | None, "about how many, instead of rings (1600 when neither is given)"] = None,
) -> Mesh:
    """A disc in the xy plane made of a centre and rings of 6, 12, 18 … vertices: 1 + 3 rings (rings + 1).

    With a hole, rings have as many vertices as fit.
    """
    radius = check_length("disc", "radius", radius)
    if rings is not None and vertices is not None:
        raise SceneError("A disc takes either rings or vertices: remove one of them.")
    count = check_count("disc", "vertices", 1600 if vertices is None else vertices, least=7)
    rings = None if rings is None else check_count("disc", "rings", rings, least=1)
    if hole is None:
        check_vertices("disc", 3.0 * (rings or 0) ** 2, asked=True)
        X, triangles, _ = fill_circle(radius, rings or max(1, round((((count - 1) / 3 + 0.25) ** 0.5) - 0.5)))
        return Mesh(X, triangles)
    hole = check_length("disc", "hole", hole)
    if hole >= radius:
        raise SceneError(
            f"A disc's hole of {hole:g} m is not smaller than its radius of {radius:g} m: make it smaller."
        )
    area = (radius**2 - hole**2) * np.pi
    edge = (area / (ROW * count)) ** 0.5 if rings is None else (radius - hole) / (ROW * rings)
    check_vertices("disc", area / (ROW * edge**2), asked=True)
    return revolve(np.array([(hole, 0.0), (radius, 0.0)]), edge)


def sphere(
    radius: Annotated[Length, "of the ball"] = 0.25,
    *,
    subdivisions: Annotated[int, "s: 10·4ˢ + 2 vertices, s = 9 at most"] = 4,
) -> Mesh:
    """An icosahedron subdivided onto the sphere: 10·4ˢ + 2 vertices."""
    radius = check_length("sphere", "radius", radius)
    subdivisions = check_count("sphere", "subdivisions", subdivisions, least=0)
    if subdivisions > 9:
        raise SceneError(f"A sphere with subdivisions = {subdivisions} has too many vertices: use 9 or less.")
    golden = (1 + 5**0.5) / 2
    X = np.array([(x, y * golden, 0.0) for x in (-1, 1) for y in (-1, 1)])
    X = np.concatenate((X, X[:, (2, 0, 1)], X[:, (1, 2, 0)]))
    mesh = Mesh(X / np.linalg.norm(X[0]), icosahedron_faces(X))
    for _ in range(subdivisions):
        middles = mesh.X[mesh.edges].sum(axis=1)
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        a, b, c = mesh.triangles.T
        ab, bc, ca = mesh.triangle_edges.T + np.int32(len(mesh.X))
        quarters = np.stack((a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca), axis=1)
        mesh = Mesh(np.concatenate((mesh.X, middles)), quarters.reshape(-1, 3))
    return Mesh(radius * mesh.X, mesh.triangles)


def cylinder(
    radius: Annotated[Length, "of its circle"] = 0.25,
    height: Annotated[Length, "along z"] = 1.0,
    *,
    around: Annotated[int, "vertices on a circle; a closed one rounds up to a multiple of six"] = 48,
    along: Annotated[int | None, "cells from bottom to top (square cells when not given)"] = None,
    closed: Annotated[bool, "with plain lids"] = True,
) -> Mesh:
    """A cylinder about the z axis, with caps when closed: multiples of six around mesh these evenly."""
    radius, height = check_length("cylinder", "radius", radius), check_length("cylinder", "height", height)
    around = check_count("cylinder", "around", around, least=3)
    if not isinstance(closed, bool):
        raise SceneError(f"A cylinder's closed must be true or false, not {closed!r}.")
    if closed:
        around = 6 * -(-around // 6)
    cells = max(1.0, height * around / (2 * np.pi * radius)) if along is None else along
    check_vertices("cylinder", (cells + 1.0) * around, asked=along is not None)
    along = check_count("cylinder", "along", round(cells) if along is None else along, least=1)
    angle = 2 * np.pi * np.arange(around) / around
    X = np.empty((along + 1, around, 3))
    X[..., 0], X[..., 1] = radius * np.cos(angle), radius * np.sin(angle)
    X[..., 2] = height * (np.arange(along + 1) / along - 0.5)[:, None]
    index = np.arange((along + 1) * around).reshape(along + 1, around)
    side = cut_cells(np.concatenate((index, index[:, :1]), axis=1), checkerboard(along, around))
    if not closed:
        return Mesh(X.reshape(-1, 3), side)

    cap, cap_triangles, rim = fill_circle(radius, around // 6)
    inner = np.setdiff1d(np.arange(len(cap)), rim)
    points, faces = [X.reshape(-1, 3)], [side]
    for circle, z, flip in ((index[-1], height / 2, False), (index[0], -height / 2, True)):
        renumber = np.empty(len(cap), dtype=np.int32)
        renumber[rim] = circle
        renumber[inner] = np.arange(len(inner)) + sum(map(len, points))
        points.append(cap[inner] + (0.0, 0.0, z))
        faces.append(renumber[cap_triangles[:, ::-1] if flip else cap_triangles])
    return Mesh(np.concatenate(points), np.concatenate(faces))


def can(
    radius: Annotated[Length, "of its circle"] = 0.033,
    height: Annotated[Length, "along z, lids included"] = 0.115,
    rounding: Annotated[MaybeLength, "radius of the lids' rounded edges (a tenth of the radius when not given)"] = None,
    *,
    vertices: Vertices = 1600,
) -> Mesh:
    """A drinks can about the z axis: a closed cylinder with level lids and rounded edges."""
    radius, height = check_length("can", "radius", radius), check_length("can", "height", height)
    rounding = check_length("can", "rounding", 0.1 * min(radius, height) if rounding is None else rounding)
    if rounding > 0.5 * min(2.0 * radius, height):
        raise SceneError(f"A can's rounding must be at most its radius and half its height, not {rounding:g}.")
    return _turn("can", can_profile(radius, height, rounding), vertices)


def dome(
    radius: Annotated[Length, "of its rim"] = 0.25,
    height: Annotated[MaybeLength, "from rim to top (half a sphere when not given)"] = None,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A spherical cap, open below."""
    radius = check_length("dome", "radius", radius)
    height = radius if height is None else check_length("dome", "height", height)
    return _turn("dome", dome_profile(radius, height), vertices)


def cone(
    radius: Annotated[Length, "of its rim"] = 0.15,
    height: Annotated[Length, "from rim to tip"] = 0.3,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A cone with its tip above, open below."""
    radius, height = check_length("cone", "radius", radius), check_length("cone", "height", height)
    # as many triangles at the tip as 60° fit into a full turn of the cone laid flat, 2π r/s
    fewest = int(np.clip(round(6.0 * radius / float(np.hypot(radius, height))), 3, 6))
    return _turn("cone", np.array([(0.0, height), (radius, 0.0)]), vertices, fewest=fewest)


def box(
    size: Annotated[Lengths, "one length, or three along x, y and z"] = 0.5,
    *,
    resolution: Annotated[int, "cells along the longest side, the others in proportion"] = 10,
) -> Mesh:
    """A box."""
    sides = size if isinstance(size, (tuple, list)) else (size,) * 3
    if len(sides) != 3:
        raise SceneError("A box's size is one length or three, [x, y, z].")
    lengths = np.array([check_length("box", "size", side) for side in sides])
    resolution = check_count("box", "resolution", resolution, least=1)
    cells = np.maximum(1, np.round(resolution * lengths / lengths.max())).astype(np.int64)
    check_vertices("box", 2.0 * float(cells @ np.roll(cells, 1)), asked=True)
    lattice: list[npt.NDArray[np.int64]] = []
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


def torus(
    major: Annotated[Length, "radius of its circle"] = 0.3,
    minor: Annotated[Length, "radius of its tube"] = 0.1,
    *,
    around: Annotated[int, "vertices along its circle"] = 64,
    across: Annotated[int, "vertices around its tube"] = 24,
) -> Mesh:
    """A torus about the z axis."""
    major, minor = check_length("torus", "major", major), check_length("torus", "minor", minor)
    if minor >= major:
        raise SceneError(
            f"A torus with minor = {minor:g} and major = {major:g} intersects itself: make minor smaller than major."
        )
    around, across = check_count("torus", "around", around, least=3), check_count("torus", "across", across, least=3)
    check_vertices("torus", around * across, asked=True)
    turn = 2 * np.pi * np.arange(around) / around
    tube = (2 * np.pi * np.arange(across) / across)[:, None]
    X = np.empty((across, around, 3))
    X[..., 0] = (major + minor * np.cos(tube)) * np.cos(turn)
    X[..., 1] = (major + minor * np.cos(tube)) * np.sin(turn)
    X[..., 2] = minor * np.sin(tube)
    index = np.pad(np.arange(across * around).reshape(across, around), ((0, 1), (0, 1)), mode="wrap")
    return Mesh(X.reshape(-1, 3), cut_cells(index, checkerboard(across, around)))


def bunny(
    size: Annotated[Length, "its height, which is its largest extent"] = 0.5,
    *,
    resolution: Annotated[int, "cells along it, from 32 to 300"] = 40,
) -> Mesh:
    """A sitting bunny that looks along x."""
    return _carve("bunny", BUNNY, BUNNY_BOX, size, resolution, coarsest=32)


def dragon(
    size: Annotated[Length, "its length, which is its largest extent"] = 0.8,
    *,
    resolution: Annotated[int, "cells along it, from 40 to 300"] = 48,
) -> Mesh:
    """A dragon with wings that looks along x."""
    return _carve("dragon", DRAGON, DRAGON_BOX, size, resolution, coarsest=40)


def _carve(
    shape: str, field: Field, box: tuple[Vector, Vector], size: float, resolution: int, *, coarsest: int
) -> Mesh:
    """A solid of this size; below the coarsest resolution its slender parts would get thin triangles."""
    size = check_length(shape, "size", size)
    resolution = check_count(shape, "resolution", resolution, least=coarsest)
    if resolution > FINEST:
        raise SceneError(f"A {shape}'s resolution must be at most {FINEST}, not {resolution}.")
    mesh = polygonise(field, box, resolution=resolution)
    low, high = mesh.X.min(axis=0), mesh.X.max(axis=0)
    return Mesh((mesh.X - 0.5 * (low + high)) * (size / (high - low).max()), mesh.triangles)


def bowl(
    radius: Annotated[Length, "of its outer side"] = 0.2,
    depth: Annotated[Length, "of its outer side; the rim's rounding stands half a thickness above"] = 0.12,
    thickness: Annotated[Length, "of its wall"] = 0.02,
    *,
    resolution: Annotated[int, "vertices around the rim, at least 12"] = 72,
) -> Mesh:
    """A round bowl with a level foot and a rounded rim, open above."""
    radius, depth = check_length("bowl", "radius", radius), check_length("bowl", "depth", depth)
    thickness = check_length("bowl", "thickness", thickness)
    if thickness > 0.5 * min(radius, depth):
        raise SceneError(f"A bowl's thickness must be at most half its radius and depth, not {thickness:g}.")
    edge = 2.0 * np.pi * radius / check_count("bowl", "resolution", resolution, least=12)
    profile = bowl_profile(radius, depth, thickness)
    check_vertices("bowl", profile_area(profile) / (ROW * edge**2), asked=False)
    return _level(revolve(profile, edge))


def hat(
    radius: Annotated[Length, "of the crown"] = 0.1,
    height: Annotated[Length, "of the crown"] = 0.12,
    brim: Annotated[Length, "width of the brim"] = 0.08,
    *,
    vertices: Vertices = 800,
) -> Mesh:
    """A hat: a rounded crown with a brim around it; open below."""
    radius, height = check_length("hat", "radius", radius), check_length("hat", "height", height)
    return _turn("hat", hat_profile(radius, height, check_length("hat", "brim", brim)), vertices)


def _turn(shape: str, profile: npt.NDArray[np.float64], vertices: int, *, fewest: int = 6) -> Mesh:
    """The turned profile with about so many vertices, each with an area of √3/2 edge²."""
    count = check_count(shape, "vertices", vertices, least=50)
    edge = (profile_area(profile) / (ROW * count)) ** 0.5
    # a slender one has more rings than its area lets expect
    length = float(np.linalg.norm(np.diff(profile, axis=0), axis=1).sum())
    check_vertices(shape, fewest * length / edge, asked=False)
    return _level(revolve(profile, edge, fewest=fewest))


def _level(mesh: Mesh) -> Mesh:
    """The mesh with the middle of its height at z = 0; a turned one has its axis in place."""
    z = mesh.X[:, 2]
    return Mesh(mesh.X - (0.0, 0.0, 0.5 * (z.min() + z.max())), mesh.triangles)


SHAPES: dict[str, Callable[..., Mesh]] = {
    function.__name__: function
    for function in (grid, strip, disc, sphere, dome, cylinder, can, cone, box, torus, bunny, dragon, bowl, hat)
}


def shape_fields(shape: str) -> list[ShapeField]:
    """What the named shape takes: names, units, defaults and a text each."""
    if shape not in SHAPES:
        raise SceneError(f'There is no shape "{shape}"{suggest(shape, SHAPES)}: choose from {", ".join(SHAPES)}.')
    return read_fields(SHAPES[shape])


def shape_parameters(shape: str) -> tuple[str, ...]:
    """Names of the parameters that the named shape takes."""
    return tuple(field.name for field in shape_fields(shape))


def make_shape(shape: str, parameters: Mapping[str, Any], *, seed: int = 0) -> Mesh:
    """The named shape with these parameters, lengths in metres or as "30 cm".

    `seed` serves the random shapes that set none of their own.
    """
    fields = {field.name: field for field in shape_fields(shape)}
    for key in parameters:
        if key not in fields:
            listing = ", ".join(fields)
            raise SceneError(f'A {shape} has no parameter "{key}"{suggest(key, fields)}: choose from {listing}.')
    common = {"seed": seed} if "seed" in fields else {}
    given = {key: convert(shape, fields[key], value) for key, value in parameters.items()}
    return SHAPES[shape](**(common | given))
