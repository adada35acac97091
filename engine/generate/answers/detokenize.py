"""Makes the text of an answer from its ids, and says where in the text each of them lies."""

from codecs import getincrementaldecoder
from collections.abc import Sequence

import numpy as np

from engine.generate.request import Ids

_Decoder = getincrementaldecoder("utf-8")


def detokenize(ids: Sequence[int], token_bytes: Sequence[bytes]) -> tuple[str, Ids]:
    """Returns the text, and int32 [n, 2], the code points from and to which a token goes; a token that holds a part of
    a character's bytes goes to that character's end."""
    decoder, parts, offsets, at = _Decoder("replace"), [], [], 0
    for number in ids:
        part = decoder.decode(token_bytes[number])
        parts.append(part)
        unfinished = bool(decoder.getstate()[0])
        offsets.append((at, at + len(part) + unfinished))
        at += len(part)
    parts.append(decoder.decode(b"", True))
    return "".join(parts), np.array(offsets, np.int32).reshape(-1, 2)
