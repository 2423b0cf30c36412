"""The pictures that a run leaves behind: one of each level, and all side by side."""

from __future__ import annotations

from pathlib import Path

from plisse.core.arrays import Floats
from plisse.pictures.render import Camera, frame, render, render_strip
from plisse.pictures.smooth import show_small
from plisse.pictures.stage import Stage, set_stage
from plisse.progressive.session import Session
from plisse.runs.store import RunStore

PICTURE = (1024, 768)  # pixels
STRIP = (480, 440)  # pixels of one level in the picture of all levels


class Album:
    """Draws levels into a run folder, all of them seen as the first one is."""

    def __init__(self, session: Session, store: RunStore) -> None:
        self._session, self._store = session, store
        self._camera: Camera | None = None

    def draw(self, level: int, x: Floats) -> Path:
        """The picture of one level."""
        stage = self._stage(level)
        bodies = stage.show(x)
        if self._camera is None:
            first = min([*self._store.levels(), level])
            at = self._store.read_checkpoint(first) if first < level else None
            coarsest = bodies if at is None else self._stage(first).show(at.state.x)
            self._camera = frame(coarsest, size=PICTURE)
        with self._store.replacing(f"level-{level}/picture.png") as path:
            render(path, bodies, grounds=stage.grounds, size=PICTURE, camera=self._camera)
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
            finest = max(states)
            drawn = [show_small(self._stage(level), x, finest=level == finest) for level, x in states.items()]
            labels = [f"level {level}, {text}" for level, (_, text) in zip(states, drawn, strict=True)]
            with self._store.replacing("levels.png") as path:
                bodies = [shown for shown, _ in drawn]
                render_strip(path, bodies, labels, grounds=self._stage(finest).grounds, size=STRIP)

    def _stage(self, level: int) -> Stage:
        geometry = self._session.ladder.geometry(level)
        return set_stage(self._session.scene, [*geometry.shells, *geometry.solids])
