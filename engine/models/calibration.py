"""What an encoder's activations are like, and what follows for its matrices: found once, by computing some texts.

*Smoothing.* Some places of a token's vector hold far greater values than the others, always the same ones, and in a
group of integers with one scale they leave few steps for their neighbours. So what goes into attention and into the
feed-forward part is multiplied with a factor for each place of the vector, 1 / c, and the weights with c:

    c = sqrt(greatest magnitude of the values / greatest magnitude of the weights)

Source: SmoothQuant (Xiao et al. 2022), with half of the difference moved. A model stays as it is where that does not
bring vectors of one digit nearer to those of two digits without smoothing.

*Digits.* A digit has 8 bits. Two of them hold what matters of any activations, at twice the products; one is enough
where vectors keep a mean cosine of 1 - LOSS to those of two digits when a kind of matrices has one.

All of this is exact arithmetic of the engine itself, so what is found is the same on every machine.
"""

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine.cpu import threads
from engine.kernels.vectors import similarity
from engine.models.head import EACH_TOKEN, MEAN, Head
from engine.models.layers import Seen
from engine.models.network import Network
from engine.models.pooling import Pooling
from engine.models.stored import Arrays
from engine.models.weights import STACKS
from engine.simd import F32, I32, I64

LOSS = 2e-4
"""1 minus the mean cosine of vectors to those of two digits, at most, for each kind of matrices."""


def has_integers(network: Network) -> bool:
    """Whether any matrix is of integers, and so has factors and digits to be found."""
    return any(network.arrays[f"{name}.weights"].size for name in STACKS)


def seen_by(network: Network, ids: Sequence[I32]) -> Seen:
    """The greatest magnitudes of what goes into each layer's attention and feed-forward part, while these texts pass:
    float32 [layers, padded d_model] each."""
    places = network.sizes.layers * network.sizes.d_model.padded
    seen = Seen(np.zeros(places, np.float32), np.zeros(places, np.float32))
    _states(network, ids, seen)
    return Seen(*(part.reshape(network.sizes.layers, -1) for part in seen))


def digits_of(network: Network, pooling: int, ids: Sequence[I32]) -> Arrays:
    """`NAME.digits` int8 [1] of each of STACKS: 1 or 2, and 2 for those that are float32; `pooling` is that of the
    model's head, for what it does not look at need not be right."""
    vectors = vectors_of(network, 2, pooling, ids)

    def enough(name: str) -> int:
        is_integer = network.arrays[f"{name}.weights"].size > 0
        return 1 if is_integer and loss_of(network, pooling, ids, vectors, [name]) <= LOSS else 2

    with ThreadPoolExecutor(threads()) as pool:
        return _digits(dict(zip(STACKS, pool.map(enough, STACKS), strict=True)))


def loss_of(
    network: Network, pooling: int, ids: Sequence[I32], exact: F32 | None = None, kinds: Sequence[str] = STACKS
) -> float:
    """1 minus the mean cosine of vectors with one digit in these kinds to exact ones, which are by default those of two
    digits everywhere; NaN if anything is not finite."""
    exact = vectors_of(network, 2, pooling, ids) if exact is None else exact
    rows = zip(exact, vectors_of(network, 1, pooling, ids, kinds), strict=True)
    return 1 - math.fsum(float(similarity(one[None], other[None])[0, 0]) for one, other in rows) / len(exact)


def vectors_of(network: Network, digits: int, pooling: int, ids: Sequence[I32], kinds: Sequence[str] = STACKS) -> F32:
    """What a head looks at, of unit length, float32 [texts or tokens, dim]: a text's mean or first token, or each. Some
    kinds have so many digits, the others two."""
    chosen = _digits({name: digits if name in kinds else 2 for name in STACKS})
    starts = np.arange(sum(each.size for each in ids) + 1) if pooling == EACH_TOKEN else _starts(ids)
    readout = Pooling(Head("embedding", pooling or MEAN, normalized=True), network.sizes.d_model)
    out = np.zeros((starts.size - 1, readout.columns), np.float32)
    readout.read(_states(dataclasses.replace(network, arrays=network.arrays | chosen), ids), starts, out)
    return out


def _digits(digits: dict[str, int]) -> Arrays:
    return {f"{name}.digits": np.array([count], np.int8) for name, count in digits.items()}


def _states(network: Network, ids: Sequence[I32], seen: Seen | None = None) -> F32:
    """The states of the last layer, of all texts together."""
    together = np.concatenate(ids)
    scratch = network.scratch(together.size)
    scratch = scratch if seen is None else scratch._replace(seen=seen)
    return network.states(together, np.zeros_like(together), _starts(ids), scratch)


def _starts(ids: Sequence[I32]) -> I64:
    """Where each text begins, and the end of the last one, int64."""
    return np.cumsum([0, *(each.size for each in ids)])
