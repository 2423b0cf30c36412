"""How the wind of a scene in motion blows: in gusts, and with eddies that drift along with it."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from plisse.core.arrays import Floats
from plisse.kernels.eddies import sum_waves
from plisse.scene.scene import Scene

TRIPLES = 24  # of waves; each triple alone has no preferred direction
STREAM = 1  # of the scene's seed


class Air:
    """u = (1 + a sin 2πt/T) w + I |w| √(6/n) Σ aₖ cos(k·(x − s) + φ) with the mean wind w(t) and its way s = ∫ w dt.

    a, T: gusts and their period; I: turbulence. Eddies drift with the wind as they are. They have no divergence, as
    aₖ ⊥ k, and every component of their velocity has the mean square (I |w|)². Lengths of k are those of a Gaussian
    spectrum, directions and phases are drawn from the scene's seed. None of it depends on a mesh: all levels feel the
    same wind.
    """

    def __init__(self, scene: Scene) -> None:
        assert scene.wind is not None
        self._scene, self._wind = scene, scene.wind
        rng = np.random.default_rng([scene.seed, STREAM])
        axes = np.linalg.qr(rng.normal(size=(TRIPLES, 3, 3)))[0].transpose(0, 2, 1)
        # of k: quantiles of χ₃, scaled to the integral length ¾π ⟨1/k⟩ of what blows along a line
        chi = np.sqrt(2.0 * gammaincinv(1.5, (np.arange(TRIPLES) + 0.5) / TRIPLES))
        length = 0.75 * np.pi * np.mean(1.0 / chi) / self._wind.turbulence_length * chi
        self._waves = np.ascontiguousarray((length[:, None, None] * axes).reshape(-1, 3))
        self._amplitudes = np.sqrt(2.0 / TRIPLES) * np.roll(axes, 1, axis=1).reshape(-1, 3)
        self._phases = rng.uniform(0.0, 2.0 * np.pi, 3 * TRIPLES)

    @staticmethod
    def blows_unevenly(scene: Scene) -> bool:
        """Whether the wind of a scene changes by itself; in statics nothing would ever come to rest."""
        wind = scene.wind
        return wind is not None and scene.time.mode == "dynamic" and (wind.gusts > 0.0 or wind.turbulence > 0.0)

    def velocity(self, points: Floats, t: float) -> Floats:
        """At points (m, 3) [m] and a time [s], (m, 3) [m/s]."""
        now = self._scene.at(t).wind
        assert now is not None
        mean, wind = np.asarray(now.velocity), self._wind
        out = np.empty_like(points)
        sum_waves(points - self._way(t), self._waves, self._phases, self._amplitudes, out)
        out *= wind.turbulence * float(np.linalg.norm(mean))
        return np.asarray(out + (1.0 + wind.gusts * np.sin(2.0 * np.pi * t / wind.gust_period)) * mean)

    def _way(self, t: float) -> Floats:
        """∫ w dt from 0 to t [m]."""
        keys = next((entry for entry in self._scene.keyed if entry.path == ("wind", "velocity")), None)
        if keys is None:
            return t * np.asarray(self._wind.velocity)
        times = [0.0, *(time for time in keys.times if 0.0 < time < t), t]
        w = np.array([keys.at(time) for time in times])
        return np.asarray((0.5 * (w[1:] + w[:-1]) * np.diff(times)[:, None]).sum(axis=0))
