"""The same run in fresh processes with two threads gives the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plisse

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
import numpy as np
import plisse
from plisse.loading.scene_file import scene_from_dict
from plisse.kernels.threads import use_threads

use_threads(2)
sheet = {"shape": "grid", "width": 0.3, "height": 0.3, "resolution": 10}
scene = scene_from_dict(
    {
        "shell": [
            {**sheet, "name": "lower", "translate": [0, 0, 0.103]},
            {**sheet, "name": "upper", "translate": [0.01, 0, 0.106], "rotate": [0, 0, 30], "seed": 1},
        ],
        "collider": [
            {"shape": "sphere", "radius": 0.1, "subdivisions": 3, "translate": [0, 0, 0]},
            {"shape": "floor", "height": -0.05},
        ],
        "contact": {"friction": 0.3, "dhat": 2e-3},
        "time": {"mode": "dynamic", "h": 0.02, "duration": 0.16},
    },
    Path(),
)
scene = replace(scene, solver=replace(scene.solver, precision=sys.argv[2]))
found = list(plisse.open_session(scene, threads=2).animate())
np.savez(
    sys.argv[1], x=[state.x for state in found], contacts=[state.contacts for state in found],
    energy=[state.energy for state in found],
)
"""


def run_fresh(path: Path, precision: str, hash_seed: int) -> dict[str, np.ndarray]:
    """Positions, contacts and energies of all iterates; the hash seed shuffles whatever hangs on a hash order."""
    source = str(Path(plisse.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": str(hash_seed), "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), precision],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with np.load(path) as data:
        return {name: data[name] for name in data.files}


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_fresh_processes_with_two_threads_agree_to_the_bit(tmp_path: Path, precision: str) -> None:
    first, second = (run_fresh(tmp_path / f"{seed}.npz", precision, seed) for seed in (1, 2))
    assert first["contacts"].max() > 150  # cloth on cloth on ball
    for name, values in first.items():
        assert values.tobytes() == second[name].tobytes(), name
