"""Input buffers of a reference set, from their recipes: the counter hash and the kinds that the set's README defines, vectorised."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError

Array = npt.NDArray[Any]
Recipe = Mapping[str, Any]

# NumPy has no bfloat16: held as its bits.
_DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "bf16": "u2"} | {
    f"{s}{8 * n}": f"{k}{n}" for s, k in (("u", "u"), ("i", "i")) for n in (1, 2, 4, 8)
}
_U64 = np.uint64


def dtype_of(name: str) -> np.dtype[Any]:
    """Raises InputError for a dtype the format does not have."""
    if name not in _DTYPES:
        raise InputError(f"unknown dtype '{name}'; there are {', '.join(_DTYPES)}")
    return np.dtype(_DTYPES[name])


def build(name: str, recipe: Recipe, folder: Path) -> Array:
    """The buffer of a recipe; `folder` holds `buffers/`. Raises InputError if its SHA-256 is not the one stated."""
    kind = str(recipe["kind"])
    if kind not in _KINDS:
        raise InputError(f"buffer '{name}': unknown recipe '{kind}'; there are {', '.join(_KINDS)}")
    data = np.ascontiguousarray(_KINDS[kind](recipe, folder))
    digest = hashlib.sha256(data.tobytes()).hexdigest()
    expected = recipe.get("initial_sha256")
    if expected is not None and digest != expected:
        raise InputError(f"buffer '{name}': its recipe gives SHA-256 {digest[:16]}..., the set states {str(expected)[:16]}...")
    return data


def counter_hash(seed: int, n: int) -> npt.NDArray[np.uint64]:
    """The set's 64-bit hash of the counters 0..n-1 under a seed (a splitmix64 finaliser)."""
    start: np.uint64 = _U64(seed * 0xD1342543DE82EF95 & (1 << 64) - 1)
    with np.errstate(over="ignore"):
        z: npt.NDArray[np.uint64] = start + np.arange(1, n + 1, dtype=_U64) * _U64(0x9E3779B97F4A7C15)
        z ^= z >> _U64(30)
        z *= _U64(0xBF58476D1CE4E5B9)
        z ^= z >> _U64(27)
        z *= _U64(0x94D049BB133111EB)
        z ^= z >> _U64(31)
    return z


def to_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """float32 rounded to nearest even, as bfloat16 bits (finite values)."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_dtype(values: npt.NDArray[np.float64], name: str) -> Array:
    """Doubles as a dtype: 16-bit floats by way of float32, as the set defines."""
    if name == "bf16":
        return to_bf16(values.astype(np.float32))
    if name == "f16":
        return values.astype(np.float32).astype(np.float16)
    return values.astype(dtype_of(name))


def _uniform(recipe: Recipe, folder: Path) -> Array:
    unit = (counter_hash(recipe["seed"], recipe["n"]) >> _U64(40)).astype(np.float64) * 2.0**-24
    return to_dtype(recipe["lo"] + (recipe["hi"] - recipe["lo"]) * unit, recipe["dtype"])


def _randint(recipe: Recipe, folder: Path) -> Array:
    span = _U64(recipe["hi"] - recipe["lo"])
    offset = ((counter_hash(recipe["seed"], recipe["n"]) >> _U64(32)) % span).astype(np.int64)
    values: Array = offset + np.int64(recipe["lo"])
    return values.astype(dtype_of(recipe["dtype"]))


def _const(recipe: Recipe, folder: Path) -> Array:
    return to_dtype(np.full(recipe["n"], recipe["value"], np.float64), recipe["dtype"])


def _file(recipe: Recipe, folder: Path) -> Array:
    path = folder / "buffers" / f"{recipe['file']}.npy.gz"
    try:
        with gzip.open(path) as stream:
            data: Array = np.load(stream, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    flat: Array = data.astype(dtype_of(recipe["dtype"])).reshape(-1)
    return flat


_KINDS: dict[str, Callable[[Recipe, Path], Array]] = {
    "zeros": lambda recipe, folder: np.zeros(recipe["n"], dtype_of(recipe["dtype"])),
    "const": _const,
    "iota": lambda recipe, folder: np.arange(recipe["n"]).astype(dtype_of(recipe["dtype"])),
    "uniform": _uniform,
    "randint": _randint,
    "file": _file,
}
