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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from engine.cpu import threads
from engine.kernels.vectors import similarity
from engine.models.head import EACH_TOKEN, MEAN, Head, Pooling
from engine.models.layers import Seen
from engine.models.network import Network
from engine.models.stored import Arrays
from engine.models.weights import STACKS, Smoothing
from engine.simd import F32, I32

LOSS = 2e-4
"""1 minus the mean cosine of vectors to those of two digits, at most, for each kind of matrices."""


class Calibration(NamedTuple):
    """The ids of each text, and the pooling of the model's head: what a head does not look at need not be right."""

    ids: Sequence[I32]
    pooling: int


def calibrated(
    make: Callable[[Smoothing], Arrays], network_of: Callable[[Arrays], Network], texts: Calibration
) -> Arrays:
    """The arrays that `make` makes with smoothing, or without it where that is better, and the digits that go with
    them; where all matrices are float32 there is nothing to be found."""
    arrays = make({})
    if not any(arrays[f"{name}.weights"].size for name in STACKS):
        return arrays
    network = network_of(arrays)
    layers = network.sizes.layers
    seen = Seen(*(np.zeros(layers * network.sizes.d_model.padded, np.float32) for _ in Seen._fields))
    exact = _vectors(network, texts, seen=seen)
    loss = _loss(exact, _vectors(network, texts, STACKS))
    del arrays, network  # they are made anew, and would be twice in memory
    arrays = make({"qk": seen.attention.reshape(layers, -1), "up": seen.feed_forward.reshape(layers, -1)})
    if not _loss(exact, _vectors(network_of(arrays), texts, STACKS)) < loss:
        arrays = make({})
    return arrays | _digits_of(network_of(arrays), texts)


def _digits_of(network: Network, texts: Calibration) -> Arrays:
    """The digits that each of STACKS needs, two for those that are float32."""
    exact = _vectors(network, texts)

    def is_enough(name: str) -> bool:
        return network.arrays[f"{name}.weights"].size > 0 and _loss(exact, _vectors(network, texts, [name])) <= LOSS

    with ThreadPoolExecutor(threads()) as pool:
        enough = pool.map(is_enough, STACKS)
        return _digits(name for name, one in zip(STACKS, enough, strict=True) if one)


def _digits(one: Iterable[str]) -> Arrays:
    """`NAME.digits` int8 [1] of each of STACKS: 1 for these, 2 for the others."""
    names = set(one)
    return {f"{name}.digits": np.array([1 if name in names else 2], np.int8) for name in STACKS}


def _vectors(network: Network, texts: Calibration, one: Sequence[str] = (), seen: Seen | None = None) -> F32:
    """What the head of a model looks at, of unit length, float32 [texts or tokens, dim]: each text's mean or its first
    token, or each token. These kinds of matrices have one digit, the others two. `seen` takes the greatest magnitudes
    of what goes into the layers' attention and feed-forward parts, float32 [layers * padded d_model] each."""
    ids, starts = np.concatenate(texts.ids), np.cumsum([0, *(each.size for each in texts.ids)])
    scratch = network.scratch(ids.size)
    scratch = scratch if seen is None else scratch._replace(seen=seen)
    chosen = dataclasses.replace(network, arrays=network.arrays | _digits(one))
    states = chosen.states(ids, np.zeros_like(ids), starts, scratch)
    if texts.pooling == EACH_TOKEN:
        starts = np.arange(ids.size + 1)
    readout = Pooling(Head("embedding", texts.pooling or MEAN, normalized=True), network.sizes.d_model)
    out = np.zeros((starts.size - 1, readout.columns), np.float32)
    readout.read(states, starts, out)
    return out


def _loss(exact: F32, found: F32) -> float:
    """1 minus the mean cosine; NaN if anything is not finite."""
    rows = zip(exact, found, strict=True)
    return 1 - math.fsum(float(similarity(one[None], other[None])[0, 0]) for one, other in rows) / len(exact)


# and made up. Another text here makes another arithmetic of every model (NUMERICS.md).


# ruff: noqa: RUF001  letters of other scripts are meant

TEXTS = (
    "The tenant shall pay the rent of EUR 1,250.00 on the first day of each month, in advance and without deduction.",
    "Patient, 67 y, admitted 2024-03-11 with chest pain (NRS 7/10); ECG: ST elevation II, III, aVF. ASA 500 mg i.v.",
    "Dear Sir or Madam, I have been waiting three weeks for a refund. Order no. 4711-0815. Please answer by Friday!",
    "Invoice 2023/117: 4 x toner cartridge, black, 38.90 each; shipping 5.95; VAT 19 %; total due 191.58, net 14 days.",
    "We propose a method that learns to rank passages from weak labels, and show that it needs a tenth of the queries.",
    "Der Antrag auf Akteneinsicht wurde am 3. Mai gestellt und ohne Begründung abgelehnt; Widerspruch ist zulässig.",
    "Le fournisseur garantit que les biens livrés sont conformes au contrat et exempts de tout vice apparent.",
    "El paciente refiere tos seca desde hace dos semanas, sin fiebre; no toma medicación y no tiene alergias.",
    "I cannot log in since the update. The app says \"error 0x80070005\", then closes. My phone is two years old.",
    "card not working",
    "Minutes of the board: 1. Approval of the accounts. 2. Dividend of 0.32 a share. 3. Any other business: none.",
    "SELECT name, sum(amount) FROM payments WHERE paid_at >= '2024-01-01' GROUP BY name HAVING sum(amount) > 10000;",
    "The quick inspection found rust on bolts 3, 7 and 12 of the east girder; replace within 90 days, see photo 4.",
    "Договор вступает в силу со дня подписания и действует до тридцать первого декабря.",
    "本合同自双方签字之日起生效，有效期为两年。",
    "He said that she said that they had said so, and nobody in the room believed a word of what either of them said.",
)  # fmt: skip
