"""What every test may count on, wherever the suite was started from."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# How fast inputs are drawn says something of the machine, which other work may share, and nothing of the program.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# A suite started by nohup or in a script's background inherits ignored signals and would hand them on to every
# program it starts; the tests are about programs that an operator starts at a terminal.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, lest the suite end with one worker at work and the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
