"""The publications that a scene builds on, as BibTeX."""

import re
from collections.abc import Iterator
from importlib.resources import files

from plisse.scene.presets import SOURCES
from plisse.scene.scene import Scene

ALWAYS = ("Li2021", "Li2020", "Chen2018", "Grinspun2003", "Tamstorf2013", "Smith2019")  # contact, membrane, bending
FLAT = ("grid", "strip", "disc")  # shapes that need not be subdivided by Loop's rule


def cite(scene: Scene | None = None) -> str:
    """BibTeX entries of the methods that a scene uses and of its materials' sources; without one, of what all use."""
    known = read_references()
    keys = ALWAYS if scene is None else dict.fromkeys((*ALWAYS, *_find_keys(scene)))
    return "\n".join(known[key] for key in keys)


def read_references() -> dict[str, str]:
    """All entries of the bibliography by their keys."""
    text = files("plisse").joinpath("references.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)}


def _find_keys(scene: Scene) -> Iterator[str]:
    levels, proxy = scene.hierarchy, scene.hierarchy.proxy
    if scene.time.mode == "static" and levels.method != "plain":
        yield "Zhang2022"  # one Newton iteration a step; preview and refinement
    if levels.count > 1 and levels.method == "cascadic" and scene.time.mode == "static":
        yield "Umetani2011"
    if levels.count > 1 and levels.method == "progressive":
        if proxy.compression != 1.0:
            yield "Pipkin1986"
        if any(shell.material.strain_limit is not None for shell in scene.shells):
            yield "Chao2010"  # relaxes strain between levels
    if levels.count > 1 and levels.kind == "decimation":
        yield from ("Zhang2023", "Garland1997", "Trettner2020", "Liu2021")
    # a file may hold a curved rest shape, which always takes Loop's rule
    if (
        levels.count > 1
        and levels.kind == "loop"
        and (
            proxy.prolongation == "loop"
            or any(shell.mesh.shape not in FLAT for shell in scene.shells)
            or any(collider.refine for collider in scene.colliders)
        )
    ):
        yield "Loop1987"
    if any(shell.material.bending == "plate" for shell in scene.shells):
        yield from ("Morley1968", "Grinspun2006")
    for shell in scene.shells:
        note = SOURCES.get(shell.material.name)
        if note is not None:
            yield from re.findall(r"\[(\w+)\]", note.source)
