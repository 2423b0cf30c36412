"""Session: the one owner of a scene's levels, its solver and the states that were reached."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.bodies import relay
from plisse.core.errors import SceneError, StartAgain
from plisse.core.grid import Grid
from plisse.core.potential import Clock, frozen
from plisse.core.state import Checkpoint, State
from plisse.hierarchy.expand import Start, relieve_strain
from plisse.kernels.threads import use_threads
from plisse.progressive.events import Changed, Event, LevelBegan, LevelEnded, LevelOpened, Listener, Stepped
from plisse.progressive.feasibility import check_start, check_strain
from plisse.progressive.integrators import CARRIED, INTEGRATORS, Integrator, Statics, VelProBDF2
from plisse.progressive.ladder import Ladder
from plisse.progressive.march import Pace, march, recall
from plisse.progressive.rest import Aim, Rest
from plisse.progressive.scene_problem import Extra, SceneProblem, hold, lay_out_scene
from plisse.scene.geometry import Geometry
from plisse.scene.scene import Scene
from plisse.solve.newton import Newton, make_newton


class Session:
    """A scene that is previewed, refined, changed and previewed again.

    `preview`, `refine`, `settle` and `animate` are generators of states: whoever stops iterating has interrupted the
    work, and every state that was reached is still in `grid`. load: finds the surfaces of a changed scene. extra: makes
    a user's own potentials for each level's problem. begin: the step at which a motion begins with the grid's state of
    its first level, and on finer levels with the safe expansion of the level below; None where all begin as the scene
    says. interactive: it is changed again and again, and what level 0's solver knows is worth keeping.
    """

    def __init__(
        self,
        scene: Scene,
        geometry: Geometry,
        *,
        threads: int = 1,
        load: Callable[[Scene], Geometry] | None = None,
        extra: Extra | None = None,
        interactive: bool = False,
    ) -> None:
        self.ladder = Ladder.of(scene, geometry, extra=extra)
        self.threads, self._load, self._interactive = threads, load, interactive
        self.grid = _empty_grid(self.ladder)
        self.begin: int | None = None
        self.newton: Newton
        self.clock: Clock
        self.problem: SceneProblem | None = None  # of the level at work
        self._listeners: list[Listener] = []
        self._changed: SceneProblem | None = None  # level 0's of the last change
        self._before: SceneProblem | None = None  # the one that the next change may take something from
        self._coarse: tuple[object, Newton] | None = None  # level 0's solver, and what it was asked for
        self._renew_solver(0)

    @property
    def scene(self) -> Scene:
        """The scene, with contact lengths that it leaves open filled in."""
        return self.ladder.scene

    @property
    def finest(self) -> int:
        return self.ladder.finest

    @property
    def state(self) -> State | None:
        """The finest state that was reached."""
        return self.grid.last(self.grid.levels[-1]) if self.grid.levels else None

    def listen(self, listener: Listener) -> None:
        """Calls the listener with every event from now on."""
        self._listeners.append(listener)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    # --- work ---------------------------------------------------------------------------------------------------------

    def preview(self) -> Iterator[State]:
        """States of level 0: on the way to its equilibrium, from the last one that is known ([Zhang2022] Alg. 3), or of
        its motion.
        """
        return self.animate(0) if self.is_dynamic else self.settle(0)

    def refine(self, *, to_level: int | None = None) -> Iterator[State]:
        """States of the levels above the finest one that has any, each brought to equilibrium, or moved as far as the
        level below.

        States that are not `accepted` and of the level below are on the way to a feasible start.
        """
        last = self._known(self.finest if to_level is None else to_level)
        if not self.grid.levels:
            raise SceneError("There is no state to refine yet: run a preview first.")
        return self._driven(self._refine(self.grid.levels[-1] + 1, last))

    def settle(self, level: int, *, rest: float | None = None, tol: float | None = None) -> Iterator[State]:
        """States of one level on the way to its equilibrium, from its start or the last state that is known of it.

        rest: distance to rest, as a part of the scene's size, or tol: speed [m/s], in place of the scene's own. The
        method "plain" solves every step to the tolerance, all others make one Newton iteration a step.
        """
        return self._driven(self._settle(self._known(level), rest, tol))

    def animate(self, level: int | None = None, *, last: int | None = None) -> Iterator[State]:
        """States of a motion through time, on the finest level when none is given.

        Unless levels are independent of each other (`hierarchy.motion`), the level below must have moved before. last:
        number of the last step, of a level that may go beyond what the grid has in memory of the one below.
        """
        return self._driven(self._animate(self.finest if level is None else self._known(level), last))

    def resume(
        self,
        at: Checkpoint,
        *,
        start: Floats | None,
        last: int,
        join: Callable[[Integrator], Integrator] | None = None,
    ) -> Iterator[State]:
        """States of a level after a checkpoint, the same to the bit as if it had not been left there.

        start: the positions (n, 3) [m] that its problem was made with, None where the scene gave them; last: number of
        the last step. join: makes the motion's integrator another one.
        """
        return self._driven(self._resume(at, start, last, join))

    def begin_with(self, state: State) -> None:
        """The motion begins with this state of its first level, at its step."""
        self.grid.put(state)
        self.begin = state.step

    def change(self, scene: Scene, *, step: int | None = None) -> None:
        """Takes a changed scene: the next preview starts from the present state of level 0, finer levels are dropped.

        Material, loads, pins, poses, friction, names and levels may differ, and colliders come and go; where shells get
        other meshes, the error is a StartAgain. A scene that the present state does not fit is refused, and nothing is
        changed then. step: of a motion, the one from which it goes on, the last by default; the states of level 0
        before it stay as they are, later ones are dropped, and finer levels begin there.
        """
        if self._load is None:
            raise SceneError("This session cannot load the surfaces of another scene: open it with a folder.")
        state, made = self._changeable(scene, step), None
        ladder = self.ladder.changed(scene, self._load(scene))
        before, after = (lay_out_scene(each.scene, each.geometry(0)) for each in (self.ladder, ladder))
        if _differ_in_names_only(self.scene, scene):
            before = after
        moves, grid = self.is_dynamic, _empty_grid(ladder)

        def relaid(old: State) -> State:
            fresh = ladder.geometry(0).placed
            x = frozen(
                relay(old.x, before, after, hold(scene, ladder.geometry(0), fresh, old.time) if moves else fresh)
            )
            v = relay(old.v, before, after, np.zeros_like(x)) if moves else np.zeros_like(x)
            return State(0, old.step, old.time, x, v, newton_iterations=old.newton_iterations)

        if state is not None:
            present = relaid(state)
            made = problem = ladder.problem(0, start=present.x, like=self._before)
            if after.names != before.names or after.sizes != before.sizes:
                check_start(problem, present=True)
            problem.check_distances()
            if moves:
                check_strain(problem)
            for old in self.grid.states(0) if moves else ():
                if old.step < state.step:
                    grid.put(relaid(old))
            grid.put(present)
        self.ladder, self.grid, self._changed = ladder, grid, made
        self._before = made if self._interactive else None
        self.begin = state.step if moves and state is not None else None
        self._tell(Changed(scene))

    def _changeable(self, scene: Scene, step: int | None) -> State | None:
        """The state of level 0 from which a changed scene goes on, None where there is none yet."""
        now, then = self.scene.time, scene.time
        if now.mode != then.mode or (self.is_dynamic and now.step != then.step):
            raise StartAgain("time.mode, and time.h of a motion, cannot be changed on the way: open another session.")
        if step is None:
            return self.grid.last(0)
        state = self.grid.get(0, step) if self.is_dynamic else None
        if state is None:
            known = self.grid.states(0) if self.is_dynamic else []
            has = f"known are steps {known[0].step} to {known[-1].step}" if known else "no motion has been previewed"
            raise SceneError(f"There is no state of level 0 after step {step} to change: {has}.")
        return state

    # --- how it is done -----------------------------------------------------------------------------------------------

    @property
    def is_dynamic(self) -> bool:
        return self.scene.time.mode == "dynamic"

    def _known(self, level: int) -> int:
        if not 0 <= level <= self.finest:
            raise SceneError(f"There is no level {level}: the scene has levels 0 to {self.finest}.")
        return level

    def _renew_solver(self, level: int) -> None:
        asked, keeps = (self.scene.solver.linear, self.scene.solver.precision), self._interactive and level == 0
        self.clock = Clock()
        if keeps and self._coarse is not None and self._coarse[0] == asked:
            self.newton = self._coarse[1]
            return
        self.newton = make_newton(asked[0], precision=asked[1], threads=self.threads, lasting=keeps)
        if keeps:
            self._coarse = asked, self.newton

    def _open(self, level: int) -> None:
        self._renew_solver(level)
        self._tell(LevelOpened(level))

    def _driven(self, states: Generator[State]) -> Iterator[State]:
        """The states; between two of them others may have used other numbers of threads."""
        while True:
            use_threads(self.threads)
            try:
                state = next(states)
            except StopIteration:
                return
            yield state

    def _march(
        self,
        problem: SceneProblem,
        integrator: Integrator,
        *,
        last: int,
        rest: Rest | None = None,
        tol: float | None = None,
        placed: bool = False,
        resumed: bool = False,
    ) -> Generator[State]:
        """Marches on from the grid's last state of the problem's level, and tells of it."""
        most, self.problem = self.scene.solver.max_iterations, problem
        one = integrator.seeks_rest and self.scene.hierarchy.method != "plain"
        tol = self.ladder.tol(problem.level) if tol is None else tol
        self._tell(LevelBegan(problem, Aim(tol, rest), last, placed, resumed))
        # with offsets frozen, the direction of a proxy is not one of descent everywhere, and need not vanish
        by_step = rest is None and one and problem.level < self.ladder.hierarchy.given
        pace = Pace(tol, last, 1 if one else most, most, rest, by_step)
        for state in march(problem, integrator, self.newton, self.clock, pace, self.grid):
            self._tell(Stepped(state))
            yield state
        end = self.grid.last(problem.level)
        assert end is not None
        self._tell(LevelEnded(end))

    def _settle(self, level: int, rest: float | None, tol: float | None) -> Generator[State]:
        self._open(level)
        start = self.grid.last(level)
        problem, self._changed = self._changed, None
        checked = problem is not None and level == 0 and start is not None and np.array_equal(problem.x0, start.x)
        if problem is None or not checked:
            problem = self.ladder.problem(level, start=None if start is None else start.x)
        if start is not None:
            x = yield from self._relieve(problem, start)
            if x is not start.x:
                problem, checked = self.ladder.problem(level, start=x), False
            if not checked:
                problem.check_distances()
            self.grid.put(replace(start, x=x, converged=False, stalled=False))
        last = (0 if start is None else start.step) + self.scene.time.max_steps
        goal = self.ladder.rest(rest) if tol is None else None
        integrator = self._statics(problem)
        yield from self._march(problem, integrator, rest=goal, tol=tol, last=last, placed=start is not None)

    def _statics(self, problem: SceneProblem, *, target: Floats | None = None) -> Statics:
        each = self.scene.time.each == "equilibrium" and self.ladder.rest() is not None
        return Statics(self.ladder.h, target=target, each=each, last_key=problem.last_key)

    def _relieve(self, problem: SceneProblem, start: State) -> Generator[State, None, Floats]:
        """Positions below a strain limit that a change has put below what they are stretched to."""
        x, limit = start.x, problem.strain_limit
        if limit is None or not limit.broken(x).any():
            return x
        h = self.ladder.h
        for relieved in relieve_strain(problem, self.newton, self.clock, x, None, (problem.free,), h=h):
            x = relieved
            yield replace(start, x=x, accepted=False)
        if limit.broken(x).any():
            raise SceneError(
                f"Level {problem.level} is stretched to {limit.max_stretch_over_limit(x):.3g} × the strain limit and "
                "cannot be brought below it from its present state: raise strain_limit, or start the scene again."
            )
        return x

    def _refine(self, first: int, last: int) -> Generator[State]:
        for level in range(first, last + 1):
            yield from self._animate(level, None) if self.is_dynamic else self._expand(level)

    def _expand(self, level: int) -> Generator[State]:
        """A feasible start from the level below, and from there to equilibrium."""
        self._open(level)
        below = self.grid.last(level - 1)
        assert below is not None
        start = yield from self._raise(level, below)
        assert isinstance(start.problem, SceneProblem)
        self.grid.put(State(level, 0, below.time, start.x, np.zeros_like(start.x)))
        integrator, most = self._statics(start.problem, target=start.target), self.scene.time.max_steps
        yield from self._march(start.problem, integrator, rest=self.ladder.rest(), last=most, placed=True)

    def _raise(self, level: int, below: State) -> Generator[State, None, Start]:
        """A feasible start of a level from a state of the level below."""
        hierarchy, h = self.ladder.hierarchy, self.ladder.h
        progressive = self.scene.hierarchy.method == "progressive"
        target = hierarchy.between(level - 1, level)(below.x) if progressive else None
        if target is not None and hierarchy.given > 0:
            # a fine vertex that is held need not lie where its coarse triangle would have it
            target = hold(self.scene, self.ladder.geometry(level), target, below.time)

        def make_problem(x: Floats) -> SceneProblem:
            return self.ladder.problem(level, start=x)

        expansion = hierarchy.expansion(level - 1, seed=self.scene.seed)
        steps = expansion(below.x, target, make_problem, self.newton, self.clock, h=h)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                start: Start = done.value
                return start
            yield replace(below, accepted=False)

    def _animate(self, level: int, last: int | None) -> Generator[State]:
        self._open(level)
        known, last = last is not None, self.scene.time.steps if last is None else last
        if self._is_carried(level) and not known:
            below = self.grid.last(level - 1)
            if below is None:
                raise SceneError(f"Level {level} follows the motion of level {level - 1}: animate that first.")
            last = min(last, below.step)
        problem = yield from self._begin_motion(level)
        yield from self._march(problem, self._motion(level), last=last, placed=self.begin is not None)

    def _begin_motion(self, level: int) -> Generator[State, None, SceneProblem]:
        """The problem of a level's motion; the grid has its first state where the scene does not give it."""
        if self.begin is None:
            return self.ladder.problem(level)
        first = self.grid.get(level, self.begin)
        if first is None:
            below = self.grid.at(level - 1, self.begin)
            x = (yield from self._raise(level, below)).x
            v = self.ladder.hierarchy.between(level - 1, level).velocity(below.v)
            first = State(level, self.begin, below.time, frozen(x), v)
            self.grid.put(first)
        return self.ladder.problem(level, start=first.x)

    def _is_carried(self, level: int) -> bool:
        """Whether a level's motion follows that of the level below."""
        settings = self.scene.hierarchy
        return level > 0 and settings.method == "progressive" and settings.motion in CARRIED

    def _motion(self, level: int) -> Integrator:
        time, settings = self.scene.time, self.scene.hierarchy
        if not self._is_carried(level):
            return INTEGRATORS[time.integrator](time.step)
        hierarchy = self.ladder.hierarchy
        way = VelProBDF2 if time.integrator == "bdf2" else CARRIED[settings.motion]
        return way(time.step, lambda coarse: hierarchy.between(coarse, coarse + 1), consistency=settings.pull)

    def _resume(
        self, at: Checkpoint, start: Floats | None, last: int, join: Callable[[Integrator], Integrator] | None
    ) -> Generator[State]:
        level, time = at.state.level, self.scene.time
        self._open(level)
        problem = self.ladder.problem(level, start=start)
        recall(problem, self.newton, at)
        if at.before is not None:
            self.grid.put(State(level, at.state.step - 1, at.state.time - time.step, *at.before))
        self.grid.put(at.state)
        integrator = self._motion(level) if self.is_dynamic else self._statics(problem)
        integrator = integrator if join is None else join(integrator)
        placed, rest = start is not None, self.ladder.rest()
        yield from self._march(problem, integrator, rest=rest, last=last, placed=placed, resumed=True)


def _differ_in_names_only(a: Scene, b: Scene) -> bool:
    """Whether two scenes have the same bodies, which may be called otherwise."""

    def unnamed(scene: Scene) -> list[object]:
        shells, colliders = scene.shells, scene.colliders
        return [*(replace(each, name="body") for each in shells), *(replace(each, name="body") for each in colliders)]

    return unnamed(a) == unnamed(b)


def _empty_grid(ladder: Ladder) -> Grid:
    """A grid that keeps what finer levels look back at."""
    return Grid(depth=np.inf) if ladder.scene.time.mode == "dynamic" and ladder.finest > 0 else Grid()
