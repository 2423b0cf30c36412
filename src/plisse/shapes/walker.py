"""A walking figure: one smooth closed surface with a fixed mesh, bent at its joints, for cloth to be worn by.

It looks and walks along +x and stands on z = 0. All joints turn about axes along y, so that no point leaves its plane
y = const: the halves of the figure, and with them its legs, cannot meet.
"""

import numpy as np

from plisse.core.arrays import Floats
from plisse.core.errors import SceneError
from plisse.core.mesh import Mesh
from plisse.shapes.sculpt import Vector, ellipsoid, limb, mirror, polygonise, unite

# Lengths of a figure of this height [m].
HEIGHT = 1.75
HIP, KNEE, ANKLE, SHOULDER = (0.0, 0.93), (0.01, 0.50), (-0.01, 0.10), (0.0, 1.40)  # x and z of the joints
CROTCH = 0.82
BOX: tuple[Vector, Vector] = ((-0.22, -0.42, -0.02), (0.26, 0.42, 1.78))
FIGURE = unite(
    (0.0, ellipsoid((0.0, 0.0, 1.22), (0.125, 0.175, 0.29))),
    (0.08, ellipsoid((-0.01, 0.0, 0.95), (0.13, 0.18, 0.13))),
    (0.08, limb([(0.0, -0.17, 1.405), (0.0, 0.0, 1.43), (0.0, 0.17, 1.405)], [0.07, 0.08, 0.07])),
    (0.06, mirror(limb([(0.0, 0.18, 1.40), (0.0, 0.26, 1.28), (0.02, 0.33, 1.12)], [0.066, 0.058, 0.052]))),
    (0.05, limb([(0.0, 0.0, 1.42), (0.01, 0.0, 1.56)], [0.065, 0.06])),
    (0.03, ellipsoid((0.02, 0.0, 1.64), (0.10, 0.082, 0.115))),
    (0.06, mirror(limb([(0.0, 0.10, 0.92), (0.01, 0.11, 0.50), (-0.01, 0.12, 0.09)], [0.086, 0.065, 0.048]))),
    (0.04, mirror(ellipsoid((0.05, 0.12, 0.048), (0.125, 0.054, 0.048)))),
)


def walk_frames(
    *,
    frames: int,
    rate: float,
    height: float = HEIGHT,
    stand: float = 0.5,
    cadence: float = 0.9,
    swing: float = 24.0,
    forward: bool = True,
    resolution: int = 58,
) -> tuple[Mesh, Floats]:
    """The figure at rest, and its places in all frames [m], shape (frames, n, 3); the first one is the rest.

    rate: frames a second. It stands for `stand` [s], takes a second to come to its gait of `cadence` double steps
    a second, and lifts its thighs by `swing` [degrees] to both sides. forward: it gets on, else it walks on the spot.
    resolution: cells along its height; 58 makes about 5,000 triangles.
    """
    if frames < 1 or not rate > 0.0 or not height > 0.0:
        raise SceneError("A walk needs at least one frame, and a rate and a height above zero.")
    if not 40 <= resolution <= 300 or not 0.0 <= swing <= 35.0:
        raise SceneError("A walk has a resolution from 40 to 300 cells and a swing from 0 to 35 degrees.")
    mesh = polygonise(FIGURE, BOX, resolution=resolution)
    X = mesh.X - (0.0, 0.0, mesh.X[:, 2].min())
    scale = height / float(np.ptp(X[:, 2]))
    time = np.arange(frames) / rate
    walking = _ease(time - stand)
    phase = 2.0 * np.pi * cadence * np.maximum(time - stand, 0.0)
    stride = np.radians(swing) * walking

    legs = np.where(X[:, 1] > 0.0, 0.0, np.pi)
    weights = _weigh(X)
    positions = np.empty((frames, len(X), 3))
    for k in range(frames):
        positions[k] = _pose(X, weights, stride[k], phase[k] + legs)
    positions[:, :, 2] += _stand_up(positions, X)[:, None]
    if forward:
        # a leg of length l passes under the hips twice in a double step, by 2 l sin(swing) each time
        pace = 4.0 * HIP[1] * np.sin(np.radians(swing)) * cadence
        positions[:, :, 0] += (
            pace * np.concatenate(([0.0], np.cumsum(0.5 * (walking[1:] + walking[:-1])) / rate))[:, None]
        )
    return Mesh(scale * X, mesh.triangles), scale * positions


def _ease(at: Floats) -> Floats:
    """0 before 0, 1 after 1, with two continuous derivatives."""
    t = np.clip(at, 0.0, 1.0)
    return np.asarray(t**3 * (10.0 + t * (6.0 * t - 15.0)))


def _weigh(X: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """How far each vertex follows hip, knee, ankle and shoulder, from 0 to 1, shapes (n,)."""
    side, z = np.abs(X[:, 1]), X[:, 2]
    # between the legs nothing moves at the height of the crotch; outside, the thigh begins above it
    apart = np.maximum(_ease(side / 0.10), _ease((CROTCH - z) / 0.14))
    hip = apart * _ease((HIP[1] + 0.08 - z) / 0.22)
    knee, ankle = _ease((KNEE[1] + 0.08 - z) / 0.16), _ease((ANKLE[1] + 0.04 - z) / 0.08)
    shoulder = _ease((side - 0.15) / 0.12) * _ease((z - 0.98) / 0.06)
    return hip, knee, ankle, shoulder


def _pose(X: Floats, weights: tuple[Floats, Floats, Floats, Floats], stride: float, phase: Floats) -> Floats:
    """The bent figure: each joint turns what is below it by its angle times the weight.

    Thigh θ = a sin φ; knee bends while the leg comes forward, as ((1 + cos(φ + 0.2))/2)³; the foot keeps nearly level;
    arms swing against the legs by half as much.
    """
    hip, knee, ankle, shoulder = weights
    thigh = stride * np.sin(phase)
    bend = stride * (0.3 + 1.7 * (0.5 + 0.5 * np.cos(phase + 0.2)) ** 3)
    x = _turn(X, ANKLE, ankle * 0.6 * (bend - thigh))
    x = _turn(x, KNEE, -knee * bend)
    x = _turn(x, HIP, hip * thigh)
    return _turn(x, SHOULDER, -0.5 * shoulder * thigh)


def _turn(X: Floats, joint: tuple[float, float], angle: Floats) -> Floats:
    """X turned about the axis along y through the joint; what is below it goes forward where the angle is positive."""
    x, z = X[:, 0] - joint[0], X[:, 2] - joint[1]
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = X.copy()
    turned[:, 0] = joint[0] + cosine * x - sine * z
    turned[:, 2] = joint[1] + sine * x + cosine * z
    return turned


def _stand_up(positions: Floats, X: Floats) -> Floats:
    """Heights [m], shape (frames,), that put the lower foot on the ground.

    The lesser of both feet's heights is rounded over 4 mm, so that the figure does not jerk when they change.
    """
    foot = X[:, 2] < 0.12
    feet = [positions[:, foot & side, 2].min(axis=1) for side in (X[:, 1] > 0.0, X[:, 1] <= 0.0)]
    rounding = 0.004
    lower = -rounding * np.log(sum(np.exp(-height / rounding) for height in feet))
    return np.asarray(lower[0] - lower)
