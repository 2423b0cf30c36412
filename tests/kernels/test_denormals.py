"""Numbers below the normal range are taken for zero where single precision meets them, and nowhere else."""

import numpy as np
import pytest

from plisse.kernels.denormals import flushed

TINY = np.full(8, 1e-30, np.float32)


def product() -> float:
    return float((TINY * np.float32(1e-12)).sum())


def test_they_count_as_zero_for_as_long_as_that_is_asked() -> None:
    assert product() > 0.0
    with flushed():
        assert product() == 0.0
    assert product() > 0.0


def test_nothing_is_left_behind_after_an_error() -> None:
    with pytest.raises(ValueError, match="inside"), flushed():
        raise ValueError("inside")
    assert product() > 0.0
