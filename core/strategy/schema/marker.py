"""A pytest plugin that registers the marker `failure`: `-p core.strategy.schema.marker`, for --strict-markers."""

from __future__ import annotations

from typing import Any


def pytest_configure(config: Any) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        "failure(code, *, skill, severity, recovery='none', fallback=None): a mocked failure of a skill, a row of its"
        " failure profile",
    )
