"""The pictures that a run leaves behind: one of each level, and all side by side."""

from __future__ import annotations

from pathlib import Path

from plisse.core.mesh import Floats
from plisse.pictures.render import COLLIDER_COLOR, SHELL_COLORS, Body, Camera, Ground, frame, render, render_strip
from plisse.progressive.session import Session
from plisse.runs.store import RunStore
from plisse.scene.colliders import move_half_space
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene

PICTURE = (1024, 768)  # pixels
STRIP = (480, 440)  # pixels of one level in the picture of all levels


class Album:
    """Draws levels into a run folder, all of them seen as the first one is."""

    def __init__(self, session: Session, store: RunStore) -> None:
        self._session, self._store = session, store
        self._camera: Camera | None = None

    def draw(self, level: int, x: Floats) -> Path:
        """The picture of one level."""
        bodies, ground = self._describe(level, x)
        if self._camera is None:
            first = min([*self._store.levels(), level])
            at = self._store.read_checkpoint(first) if first < level else None
            coarsest = bodies if at is None else self._describe(first, at.state.x)[0]
            self._camera = frame(coarsest, size=PICTURE)
        with self._store.replacing(f"level-{level}/picture.png") as path:
            render(path, bodies, ground=ground, size=PICTURE, camera=self._camera)
        return self._store.folder / f"level-{level}" / "picture.png"

    def complete(self, states: dict[int, Floats]) -> None:
        """What is missing, the finest level as the run's preview, and all levels side by side."""
        for level, x in states.items():
            # a command may have been stopped before its picture
            if not (self._store.folder / f"level-{level}" / "picture.png").is_file():
                self.draw(level, x)
        if states:
            self._store.copy(f"level-{max(states)}/picture.png", "preview.png")
        if len(states) > 1:
            drawn = [self._describe(level, x) for level, x in states.items()]
            geometries = [self._session.ladder.geometry(level) for level in states]
            sizes = [sum(len(mesh.triangles) for mesh in geometry.shells) for geometry in geometries]
            labels = [f"level {level}, {size:,} triangles" for level, size in zip(states, sizes, strict=True)]
            with self._store.replacing("levels.png") as path:
                render_strip(path, [bodies for bodies, _ in drawn], labels, ground=drawn[-1][1], size=STRIP)

    def _describe(self, level: int, x: Floats) -> tuple[list[Body], Ground | None]:
        return describe(self._session.scene, self._session.ladder.geometry(level), x)


def describe(scene: Scene, geometry: Geometry, x: Floats) -> tuple[list[Body], Ground | None]:
    """What to draw of a level's positions x: each shell in its own colour, colliders grey, a floor as ground."""
    bodies, first = [], 0
    for number, mesh in enumerate([*geometry.shells, *geometry.solids]):
        place, first = x[first : first + len(mesh.X)], first + len(mesh.X)
        if number < len(geometry.shells):
            bodies.append(Body(place, mesh.triangles, SHELL_COLORS[number % len(SHELL_COLORS)]))
        else:
            # a figure that moves by itself is what a picture is about
            framed = geometry.solid_tracks[number - len(geometry.shells)] is not None
            bodies.append(Body(place, mesh.triangles, COLLIDER_COLOR, two_sided=False, framed=framed))
    planes = (move_half_space(c, 0.0) for c in scene.colliders if c.half_space is not None)
    floors = (Ground((0.0, 0.0, 1.0), float(normal @ point)) for point, normal in planes if normal[2] > 0.99)
    return bodies, next(floors, None)
