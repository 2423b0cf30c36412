"""Meshes from files and generators."""

from collections.abc import Callable
from pathlib import Path

from plisse.core.errors import SceneError
from plisse.core.mesh import Floats, Ints, Mesh, check_manifold
from plisse.core.shapes import make_shape
from plisse.io.obj import read_obj
from plisse.io.ply import read_ply
from plisse.scene.sources import MeshSource

READERS: dict[str, Callable[[Path], tuple[Floats, Ints]]] = {".obj": read_obj, ".ply": read_ply}


def load_mesh(source: MeshSource, base: Path, *, seed: int = 0) -> Mesh:
    """The source's mesh, checked to be a clean manifold; relative files are looked up from base."""
    if source.shape is not None:
        return make_shape(source.shape, source.parameters, seed=seed)
    path = base / str(source.file)
    if path.suffix.lower() not in READERS:
        raise SceneError(f"{path} has an unknown format: save the mesh as {' or '.join(READERS)}.")
    try:
        mesh = Mesh(*READERS[path.suffix.lower()](path))
    except FileNotFoundError:
        raise SceneError(f"{path} does not exist: correct the file name, which is relative to the scene.") from None
    except OSError as error:
        raise SceneError(f"{path} cannot be read: {error.strerror}.") from None
    check_manifold(mesh, str(path))
    return mesh
