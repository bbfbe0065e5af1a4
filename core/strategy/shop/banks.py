"""The shop's strategies as files: the whole bank, its history, and what is left with fewer layers (S4, S5, S31)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from core.state import atomic
from core.strategy.documents.reading import read
from core.strategy.documents.release import BankSettings

Layers = Literal[1, 2, 3]
DOMAINS = ("aftersale", "content", "presale", "service")
REPLAYED = "aftersale.paid_no_parcel"
"""The strategy whose four versions tell the account's history: stuck, skip rule, three seconds, cross-check (S31)."""
VERSIONS = (1, 2, 3, 4)
_ROOM = resources.files("core.strategy.shop").joinpath("strategies")
_VALIDATE = re.compile(r"^validate:\n(?:(?:[ ].*)?\n)*", re.MULTILINE)


def _folder(name: str) -> dict[str, str]:
    held = sorted(_ROOM.joinpath(name).iterdir(), key=lambda path: path.name)
    return {f"{name}/{path.name}": path.read_text(encoding="utf-8") for path in held if path.name.endswith(".yaml")}


@cache
def bank_files() -> Mapping[str, str]:
    """Return the whole bank: `<domain>/<id>.yaml` to text, without bank.yaml."""
    return {name: text for domain in DOMAINS for name, text in _folder(domain).items()}


@cache
def bank_text() -> str:
    """Return the text of bank.yaml."""
    return _ROOM.joinpath("bank.yaml").read_text(encoding="utf-8")


@cache
def settings() -> BankSettings:
    """Return what holds for every strategy of the bank."""
    return read(bank_text(), BankSettings, "bank.yaml")[0]


@cache
def layered_files(layers: Layers) -> Mapping[str, str]:
    """Return the bank with one layer (triggers), two (and validation) or three (the whole one, plans too).

    With fewer than three there are no plans: a trigger activates one skill. The files of two layers are written as a
    team would that has no plans; those of one are the same without `validate`.
    """
    if layers == 3:
        return bank_files()
    files = _folder("two_layers")
    return files if layers == 2 else {name: _VALIDATE.sub("", text) for name, text in files.items()}


@cache
def versions() -> Mapping[int, str]:
    """Return the texts of the four versions of REPLAYED."""
    past = _folder("history")
    texts = {version: past.get(f"history/{REPLAYED}.{version}.yaml", "") for version in VERSIONS}
    return {**texts, VERSIONS[-1]: bank_files()[f"aftersale/{REPLAYED}.yaml"]}


def replayed_files(version: int) -> Mapping[str, str]:
    """Return the whole bank with another version of REPLAYED in force."""
    return {**bank_files(), f"aftersale/{REPLAYED}.yaml": versions()[version]}


def write_bank(root: Path) -> None:
    """Lay the whole bank out under `root`, as a project's strategies/: bank.yaml and a folder for each domain."""
    for name, text in {"bank.yaml": bank_text(), **bank_files()}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(path, text)
