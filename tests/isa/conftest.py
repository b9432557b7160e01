"""Fixtures of the front ends' tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.isa.snippets import SAMPLE


@pytest.fixture
def hardware_set() -> Path:
    """The folder of the hardware reference set, named by WARPSIGHT_HW."""
    folder = os.environ.get("WARPSIGHT_HW")
    if not folder:
        pytest.skip("WARPSIGHT_HW does not name a hardware reference set")
    return Path(folder)


@pytest.fixture(scope="session")
def sample() -> str:
    """A module that uses most of the grammar and that ptxas accepts."""
    return SAMPLE.read_text()
