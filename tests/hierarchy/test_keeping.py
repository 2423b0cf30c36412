"""Decimations are found again by content, in the process and on disk, and are the same as when they were made."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plisse.core.mesh import Mesh
from plisse.hierarchy import keeping
from plisse.hierarchy.collapses import Collapses
from plisse.hierarchy.decimate import Decimation
from plisse.meshes.memo import Memo
from plisse.shapes.catalogue import make_shape

TARGETS = [60, 200]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on disk and in the process, that also keeps what is small."""
    monkeypatch.setattr(keeping, "find_folder", lambda: tmp_path / "hierarchies")
    monkeypatch.setattr(keeping, "SMALL", 0)
    forget(monkeypatch)
    return tmp_path / "hierarchies"


def mesh(**parameters: object) -> Mesh:
    return make_shape("grid", {"vertices": 700} | parameters)


def get(given: Mesh, targets: list[int] = TARGETS, group: slice = slice(0)) -> Decimation:
    mask = np.zeros(len(given.X), bool)
    mask[group] = True
    return keeping.decimate_once(given, targets, groups=[mask], fixed=np.zeros(len(given.X), bool))[0]


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another process."""
    monkeypatch.setattr(keeping, "_known", Memo(1_000_000, lambda made: len(made.meshes[-1].X)))


def assert_same(a: Decimation, b: Decimation) -> None:
    for one, other in zip(a.meshes, b.meshes, strict=True):
        assert np.array_equal(one.X, other.X) and np.array_equal(one.triangles, other.triangles)
        assert (one.uv is None) == (other.uv is None) and (one.rest is None) == (other.rest is None)
        assert one.uv is None or np.array_equal(one.uv, other.uv, equal_nan=True)  # type: ignore[arg-type]
        assert one.rest is None or np.array_equal(one.rest, other.rest)  # type: ignore[arg-type]
    for name in ("ids", "faces"):
        assert all(np.array_equal(x, y) for x, y in zip(getattr(a, name), getattr(b, name), strict=True))
    assert a.places.keys() == b.places.keys()
    for key, places in a.places.items():
        assert all(np.array_equal(x, y) for x, y in zip(places, b.places[key], strict=True))
    for field in fields(Collapses):
        assert np.array_equal(getattr(a.log, field.name), getattr(b.log, field.name))
    assert (a.log_start, a.stopped, a.slip, a.tries) == (b.log_start, b.stopped, b.slip, b.tries)


def with_uv(given: Mesh) -> Mesh:
    return Mesh(given.X, given.triangles, uv=given.X[given.triangles][:, :, :2], rest=given.X[given.triangles])


def test_the_same_again_is_the_same_object() -> None:
    given = mesh()
    assert get(given) is get(given)


@pytest.mark.parametrize("make", [mesh, lambda: with_uv(mesh())])
def test_what_is_read_from_disk_is_what_was_made(make: object, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = make()  # type: ignore[operator]
    made = get(given)
    assert len(list(folder.glob("*.npz"))) == 1
    forget(monkeypatch)
    read = get(given)
    assert read is not made and read.meshes[-1] is given
    assert_same(read, made)
    assert [len(batch) for batch in read.batches(0)] == [len(batch) for batch in made.batches(0)]


def test_one_that_stopped_early_says_so_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = mesh()
    made = get(given, [4], group=slice(0, 700, 2))
    assert made.stopped is not None
    forget(monkeypatch)
    assert_same(get(given, [4], group=slice(0, 700, 2)), made)


def test_another_mesh_size_or_group_is_another_one(folder: Path) -> None:
    given = mesh()
    get(given)
    get(mesh(diagonals="uniform"))
    get(given, [70, 200])
    get(given, group=slice(0, 20))
    assert len(list(folder.glob("*.npz"))) == 4


def test_a_file_that_was_cut_short_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = mesh()
    made = get(given)
    (path,) = folder.glob("*.npz")
    for text in (b"", path.read_bytes()[:2000]):
        path.write_bytes(text)
        forget(monkeypatch)
        assert_same(get(given), made)


def test_a_folder_that_cannot_be_written_does_no_harm(folder: Path) -> None:
    folder.write_text("not a folder")
    assert len(get(mesh()).meshes) == 3


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.np, "savez", fail)
    assert len(get(mesh()).meshes) == 3
    assert not list(folder.iterdir())


def test_the_folder_does_not_grow_without_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = mesh()
    get(given)
    (path,) = folder.glob("*.npz")
    monkeypatch.setattr(keeping, "MOST", 2.5 * path.stat().st_size)
    for last in (201, 202, 203, 204):
        get(given, [60, last])
    assert len(list(folder.glob("*.npz"))) == 2
    assert not list(folder.glob("*.part"))
