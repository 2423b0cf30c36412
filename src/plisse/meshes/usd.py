"""Meshes and their motion from USD files; needs the extra `usd`.

A stage says itself how long its unit is and which axis points up, so positions are read in metres, z up.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from plisse.core.arrays import Floats, Longs
from plisse.core.errors import SceneError, suggest
from plisse.meshes.polygons import Polygons

SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
# Pairs of numbers, which st is often written as.
UV_TYPES = ("float2[]", "double2[]", "half2[]")


def read_usd_polygons(path: Path, *, object: str | None = None) -> Polygons:
    """All Mesh prims of a stage at its earliest time, or the one with this path or name; subsets become groups."""
    with _told_as_sentence(path):
        return _read_stage(path, object)


def read_usd_track(path: Path, *, object: str | None = None) -> tuple[Floats, Floats, float]:
    """Time codes (k,), positions [m] of all vertices (k, n, 3), and the stage's time codes per second."""
    with _told_as_sentence(path):
        return _read_samples(path, object)


def _read_stage(path: Path, object: str | None) -> Polygons:
    usd = _pxr()
    stage = _open(path)
    prims = _find_prims(stage, path, object)
    time = usd.Usd.TimeCode.EarliestTime()
    parts, notes, n, faces = list[Polygons](), list[str](), 0, 0
    objects, groups, points = dict[str, Longs](), dict[str, list[Longs]](), dict[str, list[Longs]]()
    for prim in prims:
        part = _read_prim(prim, time, path)
        scheme = usd.UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr()
        if scheme.HasAuthoredValue() and scheme.Get() != "none":
            notes.append(f"has a subdivision surface, {prim.GetPath()}, of which the control mesh was read")
        for subset in usd.UsdGeom.Subset.GetAllGeomSubsets(usd.UsdGeom.Imageable(prim)):
            kind = subset.GetElementTypeAttr().Get()
            chosen = np.array(subset.GetIndicesAttr().Get(time) or (), dtype=np.int64)
            count, shift, names = (len(part.X), n, points) if kind == "point" else (len(part.numbers), faces, groups)
            if kind in ("point", "face"):
                chosen = np.unique(chosen[(chosen >= 0) & (chosen < count)])
                names.setdefault(subset.GetPrim().GetName(), []).append(chosen + shift)
        objects[str(prim.GetPath())] = faces + np.arange(len(part.numbers))
        parts.append(part)
        n, faces = n + len(part.X), faces + len(part.numbers)
    if not usd.UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        notes.append("does not say its unit, so lengths were read as centimetres, the default of USD")
    shifts = np.concatenate(([0], np.cumsum([len(part.X) for part in parts])))
    uv = [np.full((len(part.corners), 2), np.nan) if part.uv is None else part.uv for part in parts]
    whole = Polygons(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.corners + shift for part, shift in zip(parts, shifts[:-1], strict=True)]),
        np.concatenate(([0], np.cumsum(np.concatenate([part.sizes for part in parts])))),
        objects,
        {name: np.concatenate(some) for name, some in groups.items()},
        points={name: np.concatenate(some) for name, some in points.items()},
        notes=tuple(notes),
        uv=np.concatenate(uv),
    )
    return _without_holes(whole, [_holes(prim, time) for prim in prims], [len(part.numbers) for part in parts])


def _read_samples(path: Path, object: str | None) -> tuple[Floats, Floats, float]:
    usd = _pxr()
    stage = _open(path)
    prims = _find_prims(stage, path, object)
    codes = sorted({code for prim in prims for code in _sample_times(prim)})
    if not codes:
        return np.zeros(0), np.zeros((0, 0, 3)), 24.0
    topologies = [_topology(prim, usd.Usd.TimeCode.EarliestTime(), path) for prim in prims]
    frames = []
    for code in codes:
        time = usd.Usd.TimeCode(code)
        for prim, (sizes, corners) in zip(prims, topologies, strict=True):
            at_time = _topology(prim, time, path)
            if not (np.array_equal(at_time[0], sizes) and np.array_equal(at_time[1], corners)):
                raise SceneError(
                    f"{path} has a mesh, {prim.GetPath()}, whose faces change at time code {code:g}, but all frames of "
                    "a sequence need the same vertices and faces."
                )
        frames.append(np.concatenate([_positions(prim, time) for prim in prims]))
        if len(frames[-1]) != len(frames[0]):
            raise SceneError(
                f"{path} has {len(frames[-1])} instead of {len(frames[0])} vertices at time code {code:g}."
            )
    return np.array(codes, dtype=np.float64), np.stack(frames), float(stage.GetTimeCodesPerSecond())


def _pxr() -> Any:
    """The library, imported at first use."""
    import pxr.Sdf
    import pxr.Usd
    import pxr.UsdGeom

    return pxr


@contextmanager
def _unheard() -> Iterator[None]:
    """The library writes its warnings to the error stream past Python; we report what is wrong ourselves."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _told_as_sentence(path: Path) -> Iterator[None]:
    """A missing library, whatever it raises over a damaged file, and what numpy raises over values of other types."""
    try:
        with _unheard():
            yield
    except ImportError:
        raise SceneError(f"{path} is a USD file, which needs an extra: pip install 'plisse[usd]'.") from None
    except (RuntimeError, TypeError, ValueError, OverflowError):
        raise SceneError(f"{path} cannot be read: it is damaged or not a USD file; export it again.") from None


def _open(path: Path) -> Any:
    usd = _pxr()
    # a file that has changed on disk must not be served from the library's cache
    if cached := usd.Sdf.Layer.Find(str(path)):
        cached.Reload()
    return usd.Usd.Stage.Open(str(path))


def _find_prims(stage: Any, path: Path, object: str | None) -> list[Any]:
    usd = _pxr()
    prims = [
        prim
        for prim in stage.Traverse(usd.Usd.TraverseInstanceProxies())
        if prim.IsA(usd.UsdGeom.Mesh) and usd.UsdGeom.Mesh(prim).GetPointsAttr().HasValue()
    ]
    if not prims:
        raise SceneError(f"{path} has no mesh: export surfaces as polygons.")
    if object is None:
        return prims
    chosen = [prim for prim in prims if object in (str(prim.GetPath()), prim.GetName())]
    known = [str(prim.GetPath()) for prim in prims]
    if not chosen:
        near = suggest(object, [*known, *(prim.GetName() for prim in prims)])
        raise SceneError(f'{path} has no object "{object}"{near}: it holds {list_names(known)}.')
    if len(chosen) > 1:
        paths = list_names([str(prim.GetPath()) for prim in chosen])
        raise SceneError(f'{path} has several objects "{object}": name one of {paths}.')
    return chosen


def list_names(names: list[str]) -> str:
    """The names apart by commas, the first eight of them."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _topology(prim: Any, time: Any, path: Path) -> tuple[Longs, Longs]:
    mesh = _pxr().UsdGeom.Mesh(prim)
    sizes = np.array(mesh.GetFaceVertexCountsAttr().Get(time) or (), dtype=np.int64)
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(time) or (), dtype=np.int64)
    if (sizes < 0).any() or sizes.sum() != len(corners):
        raise SceneError(
            f"{path} has a damaged mesh, {prim.GetPath()}, whose face counts and indices do not match: export it again."
        )
    return sizes, corners


def _positions(prim: Any, time: Any) -> Floats:
    """World positions [m], z up, shape (n, 3)."""
    usd = _pxr()
    stage = prim.GetStage()
    points = np.array(usd.UsdGeom.Mesh(prim).GetPointsAttr().Get(time) or (), dtype=np.float64).reshape(-1, 3)
    matrix = _matrix(prim, time)
    # what is not finite is told when the mesh is looked at
    with np.errstate(all="ignore"):
        x = (points @ matrix[:3, :3] + matrix[3, :3]) * usd.UsdGeom.GetStageMetersPerUnit(stage)
    return turn_up(x) if usd.UsdGeom.GetStageUpAxis(stage) == "Y" else x


def turn_up(x: Floats) -> Floats:
    """From y up to z up, (x, y, z) → (x, −z, y); x and result (n, 3)."""
    return np.column_stack((x[:, 0], 0.0 - x[:, 2], x[:, 1]))


def _matrix(prim: Any, time: Any) -> Floats:
    """From local to world, for row vectors, shape (4, 4)."""
    cache = _pxr().UsdGeom.XformCache(time)
    return np.array(cache.GetLocalToWorldTransform(prim), dtype=np.float64)


def _read_prim(prim: Any, time: Any, path: Path) -> Polygons:
    sizes, corners = _topology(prim, time, path)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    left_handed = _pxr().UsdGeom.Mesh(prim).GetOrientationAttr().Get(time) == "leftHanded"
    with np.errstate(all="ignore"):
        mirrored = np.linalg.det(_matrix(prim, time)[:3, :3]) < 0
    order = np.arange(len(corners))
    if left_handed != mirrored:
        order = np.repeat(starts[:-1] + starts[1:] - 1, sizes) - order
    uv, corners = _read_uv(prim, time, corners), corners[order]
    X = _positions(prim, time)
    if len(corners) and not (0 <= corners.min() and corners.max() < len(X)):
        bad = int(np.searchsorted(starts, np.argmax((corners < 0) | (corners >= len(X))), side="right")) - 1
        raise SceneError(
            f"{path} is damaged, face {bad} of {prim.GetPath()} uses a vertex outside 0 to {len(X) - 1}: "
            "export the file again."
        )
    return Polygons(X, corners, starts, uv=None if uv is None else uv[order])


def _read_uv(prim: Any, time: Any, corners: Longs) -> Floats | None:
    """Texture coordinates of all corners (c, 2): the primvar st, or else the first one of their type."""
    primvars = _pxr().UsdGeom.PrimvarsAPI(prim).GetPrimvarsWithValues()
    types = [(each.GetPrimvarName() != "st", str(each.GetTypeName()), each) for each in primvars]
    found = [part for part in types if part[1].startswith("texCoord2") or (not part[0] and part[1] in UV_TYPES)]
    for *_, primvar in sorted(found, key=lambda part: part[0]):
        values = np.array(primvar.ComputeFlattened(time) or (), dtype=np.float64).reshape(-1, 2)
        way = primvar.GetInterpolation()
        if way == "faceVarying" and len(values) == len(corners):
            return values
        if way in ("vertex", "varying") and len(corners) and 0 <= corners.min() and corners.max() < len(values):
            return np.asarray(values[corners])
    return None


def _holes(prim: Any, time: Any) -> Longs:
    """Faces that the stage declares to be holes, (k,)."""
    attribute = prim.GetAttribute("holeIndices")
    return np.array((attribute.Get(time) if attribute else None) or (), dtype=np.int64)


def _without_holes(whole: Polygons, holes: list[Longs], counts: list[int]) -> Polygons:
    keep, begin = np.ones(len(whole.numbers), dtype=bool), 0
    for faces, count in zip(holes, counts, strict=True):
        keep[begin + faces[(faces >= 0) & (faces < count)]] = False
        begin += count
    return whole if keep.all() else whole.keep(np.flatnonzero(keep))


def _sample_times(prim: Any) -> list[float]:
    """Time codes at which the points or the place of a prim are given."""
    usd = _pxr()
    codes = list(usd.UsdGeom.Mesh(prim).GetPointsAttr().GetTimeSamples())
    while prim and not prim.IsPseudoRoot():
        if prim.IsA(usd.UsdGeom.Xformable):
            codes += usd.UsdGeom.Xformable(prim).GetTimeSamples()
        prim = prim.GetParent()
    return codes
