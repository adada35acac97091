"""The 16 levels that the quants of IQ4_NL and IQ4_XS stand for: close to each other near zero, where most weights are.

Source: ggml `kvalues_iq4nl`.
"""

import numpy as np

from engine.quant.base import Bytes, Floats

LEVELS = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
MIDPOINTS = (LEVELS[:-1] + LEVELS[1:]) / 2


def nearest_levels(values: Floats, scale: Floats) -> Bytes:
    """The quants, uint8 [..., n], whose levels times `scale` [...] are nearest to the values [..., n]."""
    wide = scale[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        level = np.where(np.isfinite(wide) & (wide != 0), values / wide, 1)
    return np.searchsorted(MIDPOINTS, level).astype(np.uint8)
