"""Sessions beside each other, their events, and what they refuse."""

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from tests.progressive.test_progressive import make_session

from plisse.core.errors import SceneError
from plisse.loading.geometry import load_geometry
from plisse.loading.scene_file import scene_from_dict
from plisse.progressive.events import Changed, Event, LevelBegan, LevelEnded, LevelOpened, Stepped
from plisse.progressive.session import Session


def test_listeners_hear_of_everything_in_order() -> None:
    session, heard = make_session({"vertices": 40}, levels=2), list[Event]()
    session.listen(heard.append)
    yielded = [*session.preview(), *session.refine()]
    kinds = [type(event) for event in heard]
    opened = [k for k, kind in enumerate(kinds) if kind is LevelOpened]
    assert len(opened) == 2 and kinds[:2] == [LevelOpened, LevelBegan] and kinds[-1] is LevelEnded
    assert kinds[opened[1] - 1] is LevelEnded and kinds.count(LevelBegan) == kinds.count(LevelEnded) == 2
    # every state of a level at work is told before it is yielded
    told = [event.state for event in heard if isinstance(event, Stepped)]
    assert told == [state for state in yielded if state in told] and len(told) >= len(yielded) - 5
    began = [event for event in heard if isinstance(event, LevelBegan)]
    assert [event.problem.level for event in began] == [0, 1] and [event.placed for event in began] == [False, True]
    session.change(session.scene)
    assert isinstance(heard[-1], Changed)


def test_two_sessions_with_other_threads_do_not_disturb_each_other() -> None:
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        pytest.skip("one thread only")
    data: dict[str, Any] = {
        "shell": [{"shape": "grid", "vertices": 120}],
        "collider": [{"shape": "sphere", "radius": 0.3, "subdivisions": 2}],
    }
    scene = scene_from_dict(data, Path())
    geometry = load_geometry(scene, Path())
    alone = {threads: list(Session(scene, geometry, threads=threads).settle(0))[:12] for threads in (1, 2)}
    sessions = {threads: Session(scene, geometry, threads=threads).settle(0) for threads in (1, 2)}
    for k in range(12):
        for threads, states in sessions.items():
            state = next(states)
            assert numba.get_num_threads() == threads
            assert np.array_equal(state.x, alone[threads][k].x)


def test_a_session_refuses_in_one_sentence() -> None:
    session = make_session({"vertices": 20}, levels=2)
    with pytest.raises(SceneError, match="no state to refine"):
        session.refine()
    with pytest.raises(SceneError, match="There is no level 7"):
        session.settle(7)
    scene = session.scene
    closed = Session(scene, session.ladder.given)
    with pytest.raises(SceneError, match="cannot load"):
        closed.change(scene)
