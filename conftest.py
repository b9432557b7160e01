"""Leaves out the tests marked slow unless WARPSIGHT_SLOW=1."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("WARPSIGHT_SLOW") == "1":
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow; WARPSIGHT_SLOW=1 runs it"))
