"""Keyframed motion of pins and colliders.

A motion is relative to the placed body: a point that starts at x₀ is at time t at

    x(t) = c + T(t) + R(t) S(t) (x₀ − c)

with the pivot c (the body's own origin unless another is given), translation T, rotation R and scale S.
Between keys the translation, the scale factors and the three angles are interpolated linearly, each by
itself; so a turn from 0 to 720 degrees about one axis makes two full turns. At time 0 every motion is the
identity; after its last key it rests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.record import Record, factors, number, three, turn
from plisse.core.values import Vector


@dataclass(frozen=True)
class Keyframe(Record):
    """A pose relative to the start; what is omitted is as it was at the start."""

    time: float = number("s", "time of the pose, which increases from key to key", least=0)
    translate: Vector = three("m", "displacement from the start", default=(0.0, 0.0, 0.0))
    rotate: Vector = turn("rotation about the fixed axes x, then y, then z, through the pivot")
    scale: Vector = factors("scaling about the pivot", default=(1.0, 1.0, 1.0))


def check_motion(motion: Sequence[Keyframe]) -> tuple[Keyframe, ...]:
    """The keys as a tuple; a SceneError unless times increase and a key at time 0 is the identity."""
    for before, after in pairwise(motion):
        if after.time <= before.time:
            raise SceneError(
                f"motion needs increasing times, but {after.time:g} s follows {before.time:g} s: give each key its own "
                "time."
            )
    if motion and motion[0].time == 0 and motion[0] != Keyframe(0.0):
        raise SceneError(
            "motion must start at rest: place the body with translate and rotate instead of moving it at time 0."
        )
    return tuple(motion)


def rotation(degrees: Sequence[float] | Floats) -> Floats:
    """Rotation matrix about the fixed axes x, then y, then z: R = R_z R_y R_x, shape (3, 3)."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return np.asarray(about_z @ about_y @ about_x, dtype=np.float64)


def pose(motion: Sequence[Keyframe], t: float) -> tuple[Floats, Floats, Floats]:
    """Rotation (3, 3), translation [m] (3,) and scale factors (3,) at time t [s]."""
    now = _interpolate(motion, t)
    return rotation(now[3:6]), now[:3], now[6:]


def _interpolate(motion: Sequence[Keyframe], t: float) -> Floats:
    """Translation [m], angles [degrees] and scale factors at time t [s], shape (9,)."""
    keys = motion if motion and motion[0].time == 0 else (Keyframe(0.0), *motion)
    times = [key.time for key in keys]
    rows = np.array([(*key.translate, *key.rotate, *key.scale) for key in keys])
    return np.array([np.interp(t, times, column) for column in rows.T])


def transform_points(
    X: Floats, motion: Sequence[Keyframe], t: float, *, pivot: Sequence[float] = (0.0, 0.0, 0.0)
) -> Floats:
    """Start positions X [m], shape (n, 3), moved to time t [s] about the pivot [m]; same shape."""
    if not motion:
        return X.copy()
    turn, shift, scale = pose(motion, t)
    center = np.asarray(pivot, dtype=np.float64)
    return np.ascontiguousarray(((X - center) * scale) @ turn.T + (center + shift))


def stop_motion(motion: Sequence[Keyframe], t: float) -> tuple[Keyframe, ...]:
    """The keys up to time t [s], and the pose of that time as the last one; one that has ended is as it was."""
    if not motion or motion[-1].time <= t:
        return tuple(motion)
    now = _interpolate(motion, t).tolist()
    last = Keyframe(t, (now[0], now[1], now[2]), (now[3], now[4], now[5]), (now[6], now[7], now[8]))
    return (*(key for key in motion if key.time < t), last)


@dataclass(frozen=True, eq=False)
class Track:
    """Vertices that follow samples: times (k,) [s], increasing, and positions (k, n, 3) [m], linear in between."""

    times: Floats
    positions: Floats

    def at(self, t: float) -> Floats:
        """Positions (n, 3) [m] at time t [s]; the first sample before its time, the last one after."""
        after = int(np.searchsorted(self.times, t, side="right"))
        if after == 0 or after == len(self.times):
            return np.ascontiguousarray(self.positions[min(after, len(self.times) - 1)])
        begin, end = self.times[after - 1 : after + 1]
        part = (t - begin) / (end - begin)
        return np.asarray((1.0 - part) * self.positions[after - 1] + part * self.positions[after])

    def stopped(self, t: float) -> "Track":
        """The samples up to time t [s], and the positions of that time as the last one."""
        before = self.times < t
        times, positions = np.append(self.times[before], t), np.concatenate((self.positions[before], self.at(t)[None]))
        return Track(times, positions)
