"""A deed under way: what is said of it, and whether it can be ended."""

from __future__ import annotations

import pytest

from tui.work import Ended, Work


def test_only_what_reports_can_be_ended() -> None:
    work = Work("exporting v3")
    assert not work.can_end  # Esc would do nothing, and is not offered
    work.report(1, 4)
    assert work.can_end
    work.end()
    with pytest.raises(Ended):
        work.report(2, 4)
