"""Input recipes against a plain-Python reading of the reference set's README."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsight.errors import InputError
from warpsight.validate.recipes import build

MASK = (1 << 64) - 1


def counter(seed: int, i: int) -> int:
    z = (seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def make(**recipe: Any) -> np.ndarray[Any, Any]:
    return build("b", recipe, Path())


@pytest.mark.parametrize("seed", [0, 1, 77, (1 << 63) + 5])
def test_uniform(seed: int) -> None:
    expected = [np.float32(-2 + 5 * ((counter(seed, i) >> 40) * 2.0**-24)) for i in range(100)]
    got = make(kind="uniform", dtype="f32", n=100, seed=seed, lo=-2, hi=3)
    assert got.dtype == np.float32 and got.tolist() == [float(x) for x in expected]
    half = make(kind="uniform", dtype="f16", n=100, seed=seed, lo=-2, hi=3)
    assert half.tolist() == [float(np.float16(x)) for x in expected]
    double = make(kind="uniform", dtype="f64", n=100, seed=seed, lo=-2, hi=3)
    assert double.tolist() == [-2 + 5 * ((counter(seed, i) >> 40) * 2.0**-24) for i in range(100)]


def test_bf16_rounds_to_nearest_even() -> None:
    # bits of float32: exactly half way to even below and above, just over half, and exact
    values = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F800000], np.uint32).view(np.float32)
    got = [int(make(kind="const", dtype="bf16", n=1, value=float(v))[0]) for v in values]
    assert got == [0x3F80, 0x3F82, 0x3F81, 0x3F80]


def test_randint() -> None:
    got = make(kind="randint", dtype="i32", n=200, seed=9, lo=-5, hi=12)
    assert got.dtype == np.int32 and got.tolist() == [-5 + (counter(9, i) >> 32) % 17 for i in range(200)]


def test_plain_kinds(tmp_path: Path) -> None:
    assert make(kind="zeros", dtype="u32", n=3).tolist() == [0, 0, 0]
    assert make(kind="const", dtype="i32", n=2, value=-7777).tolist() == [-7777, -7777]
    assert make(kind="iota", dtype="f32", n=4).tolist() == [0, 1, 2, 3]
    (tmp_path / "buffers").mkdir()
    with gzip.open(tmp_path / "buffers" / "x.npy.gz", "wb") as stream:
        np.save(stream, np.arange(5, dtype=np.uint8))
    assert build("b", {"kind": "file", "file": "x", "dtype": "u8", "n": 5}, tmp_path).tolist() == [0, 1, 2, 3, 4]


def test_a_wrong_digest_an_unknown_kind_and_a_missing_file_are_refused() -> None:
    digest = hashlib.sha256(bytes(8)).hexdigest()
    assert make(kind="zeros", dtype="f32", n=2, initial_sha256=digest).nbytes == 8
    with pytest.raises(InputError, match=r"buffer 'b'.*SHA-256"):
        make(kind="zeros", dtype="f32", n=3, initial_sha256=digest)
    with pytest.raises(InputError, match="unknown recipe 'ones'"):
        make(kind="ones", dtype="f32", n=3)
    with pytest.raises(InputError, match="unknown dtype 'f8'"):
        make(kind="zeros", dtype="f8", n=3)
    with pytest.raises(InputError, match="cannot read"):
        make(kind="file", file="none", dtype="u8", n=5)
