"""The laws are part of the bank's check, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.strategy.bank.check import check_bank
from core.strategy.execution.records import LevelResult
from core.strategy.governance.checked import LAWS
from tests.strategy.bank.banks import make, strategy_text, write
from tests.strategy.bank.test_check import EXAMPLES, SCHEMAS
from tests.strategy.bank.test_records import execution


@pytest.mark.meets("S107", "S45")
def test_the_laws_find_their_own_in_a_check(tmp_path: Path) -> None:
    bank = make(tmp_path)
    long = "[" + ", ".join(f"{{run: check, as: n{n}, timeout_ms: 100}}" for n in range(14)) + "]"
    text = strategy_text(more=EXAMPLES, plan=long).replace("purpose: One thing.", "purpose: Handle all of after-sale.")
    write(bank, text)
    tracked = [execution(n, validation_result={"level0": LevelResult(passed=1)}) for n in range(120)]
    report = check_bank(bank, SCHEMAS, laws=LAWS, executions=tracked, only=[])
    found = {one.part: one for one in report.findings if one.part.startswith("law")}
    purpose = found["law: purpose"]
    assert (purpose.level, purpose.file, purpose.line) == ("error", "shop/shop.refund.yaml", 4)
    assert found["law: lines"].level == "warning"
    assert "not one of 120 runs failed a check" in found["law: never_fails"].message
    assert report.exit_code == 1
    write(bank, strategy_text(more=EXAMPLES))
    assert check_bank(bank, SCHEMAS, laws=LAWS, only=[]).ok
