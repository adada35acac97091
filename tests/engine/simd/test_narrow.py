"""Float16, int8 and int16: all numbers there are, on the instruction set at hand."""

import numpy as np

from engine.simd import (
    F32,
    I8,
    LANES,
    load_bytes,
    load_f32,
    load_half,
    store_bytes,
    store_f32,
    store_half,
    store_pairs,
    to_f32,
    to_i32,
)
from engine.simd.compiled import entry


@entry
def _widen(source: I8, out: F32, half: bool) -> None:
    for i in range(0, out.size, LANES):
        if half:
            store_f32(out, i, load_half(source.ctypes.data + 2 * i))
        else:
            store_f32(out, i, to_f32(load_bytes(source.ctypes.data + i)))


@entry
def _narrow(source: F32, out: I8, half: bool) -> None:
    for i in range(0, source.size, LANES):
        if half:
            store_half(out.ctypes.data + 2 * i, load_f32(source, i))
        else:
            store_bytes(out.ctypes.data + i, to_i32(load_f32(source, i)))


def test_every_half_is_read() -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    out = np.zeros(65536, np.float32)
    _widen(halves.view(np.int8), out, True)
    assert np.array_equal(out, halves.astype(np.float32), equal_nan=True)
    assert np.array_equal(np.signbit(out), np.signbit(halves))


def test_halves_are_rounded_to_even() -> None:
    finite = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (finite[1:].astype(np.float64) + finite[:-1]) / 2
    values = np.concatenate([finite, between, np.nextafter(between.astype(np.float32), np.float32(0))])
    more = np.array([65504, 65519.99, 65520, 1e38, np.inf, 1e-8, 2.0**-25, 1.1 * 2.0**-25, 1e-40], np.float32)
    values = np.concatenate([values, more, -values, -more, np.random.default_rng(1).standard_normal(2000)])
    values = np.concatenate([values, np.zeros(-values.size % LANES)]).astype(np.float32)
    out = np.zeros(2 * values.size, np.int8)
    _narrow(values, out, True)
    with np.errstate(over="ignore"):
        assert np.array_equal(out.view(np.uint16), values.astype(np.float16).view(np.uint16))


def test_no_number_becomes_none() -> None:
    out = np.zeros(2 * LANES, np.int8)
    _narrow(np.full(LANES, np.nan, np.float32), out, True)
    assert np.isnan(out.view(np.float16)).all()


def test_bytes() -> None:
    values, out, back = np.arange(-128, 128, dtype=np.float32), np.zeros(256, np.int8), np.zeros(256, np.float32)
    _narrow(values, out, False)
    _widen(out, back, False)
    assert np.array_equal(back, values)


@entry
def _pairs(source: F32, out: I8) -> None:
    store_pairs(out.ctypes.data, to_i32(load_f32(source, 0)), to_i32(load_f32(source, LANES)))


def test_pairs() -> None:
    for values in (np.arange(32), -np.arange(32), np.tile([-32768, 32767, -1], 11)[:32], np.full(32, 65536)):
        out = np.full(2 * 32 + 2, 7, np.int8)
        _pairs(values.astype(np.float32), out)
        assert np.array_equal(out[:64].view(np.int16).reshape(16, 2).T.reshape(-1), values.astype(np.int16))
        assert (out[64:] == 7).all()
