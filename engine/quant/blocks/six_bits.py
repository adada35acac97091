"""The 12 bytes in which Q4_K and Q5_K keep 8 scales and 8 offsets of 6 bits.

    bytes 0 to 3: scales 0 to 3, and above them the upper 2 bits of scales 4 to 7
    bytes 4 to 7: the same of the offsets
    bytes 8 to 11: the lower 4 bits of scales 4 to 7, and above them those of offsets 4 to 7

Source: ggml `get_scale_min_k4`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.quant.base import Bytes, Floats, Quants, Records
from engine.quant.blocks.layout import to_rows


def unpack_scales(data: Bytes) -> tuple[Bytes, Bytes]:
    """Unpacks uint8 [..., 12] to scales and offsets, uint8 [..., 8] each, from 0 to 63."""
    scale, offset, low = data[..., :4], data[..., 4:8], data[..., 8:]
    return (
        np.concatenate([scale & 63, low & 15 | scale >> 6 << 4], axis=-1),
        np.concatenate([offset & 63, low >> 4 | offset >> 6 << 4], axis=-1),
    )


def pack_scales(scale: Bytes, offset: Bytes) -> Bytes:
    """Packs scales and offsets, as `unpack_scales` gives them, to uint8 [..., 12]."""
    first = [each[..., :4] | each[..., 4:] >> 4 << 6 for each in (scale, offset)]
    return np.concatenate([*first, scale[..., 4:] & 15 | offset[..., 4:] << 4], axis=-1)


def scale_and_offset(blocks: Records) -> tuple[Floats, Floats]:
    """Scale and offset of each sub-block of the records [...], float32 [..., 8] each; the offset is added."""
    scale, offset = unpack_scales(blocks["scales"])
    d, dmin = (blocks[field].astype(np.float32)[..., np.newaxis] for field in ("d", "dmin"))
    return d * scale.astype(np.float32), -(dmin * offset.astype(np.float32))


def with_scales(blocks: Records, q: NDArray[Any]) -> Quants:
    """The quants q [..., 256] of the records [...] with their scales and offsets."""
    scales = np.stack(unpack_scales(blocks["scales"]), axis=-1)
    units = np.stack([blocks["d"], blocks["dmin"]], axis=-1)
    return Quants(to_rows(q, blocks), scales.reshape(*blocks.shape[:-1], -1, 2), units)
