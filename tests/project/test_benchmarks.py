"""The benchmarks' own instruments."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.run import HERE, compiled

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SPIN = """
import sys, time
from benchmarks.profiling import Profile
profile = Profile(sys.argv[1])
profile.start()
end = time.process_time() + 0.5
while time.process_time() < end:
    sum(range(1000))
shares = profile.stop()
assert abs(sum(shares.values()) - 1) < 1e-9, shares
print(next(iter(shares)))
"""


def test_loop_prints_a_rate(tmp_path: Path) -> None:
    out = subprocess.run([compiled("loop.c", tmp_path), "0.05"], check=True, capture_output=True, text=True).stdout
    assert 1e6 < float(out) < 1e11  # rows/s of any host


def test_samples_name_where_the_time_went(tmp_path: Path) -> None:
    """A loop in Python is time in the interpreter: in its executable or its shared library."""
    library = compiled("sampler.c", tmp_path, "-shared", "-fPIC")
    done = subprocess.run([sys.executable, "-c", SPIN, str(library)], cwd=HERE.parent, check=True, capture_output=True, text=True)
    assert "python" in done.stdout
