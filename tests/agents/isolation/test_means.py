"""What the machine is judged to be able to do, what of the system is readable, and what of it stays hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.agents.isolation import plan as planning
from core.agents.isolation import system_paths
from core.agents.isolation.support import Layer, Support, judge, probe
from tests.agents.isolation.conftest import Run


@pytest.mark.parametrize(
    ("abi", "namespaces", "bubblewrap", "layer"),
    [
        (7, True, True, "landlock"),
        (7, False, True, "landlock"),
        (1, True, False, "landlock"),
        (2, False, True, "bubblewrap"),  # truncate(2) would be open
        (2, False, False, "none"),
        (3, False, False, "landlock"),
        (None, True, True, "bubblewrap"),
        (None, True, False, "none"),
    ],
)
def test_the_layer(abi: int | None, namespaces: bool, bubblewrap: bool, layer: Layer) -> None:
    bwrap = Path("/usr/bin/bwrap") if bubblewrap else None
    means = judge(abi, has_seccomp=True, namespaces=namespaces, bubblewrap=bwrap, root=False)
    assert means.layer == layer
    if layer != "landlock" or not namespaces:
        assert means.findings
    assert all(f.what and f.cost and f.fix for f in means.findings)


def test_without_a_filter_landlock_is_not_enough() -> None:
    assert judge(7, has_seccomp=False, namespaces=True, bubblewrap=None, root=False).layer == "none"


def test_each_abi_says_what_it_lacks() -> None:
    def said(abi: int, *, namespaces: bool) -> str:
        return " ".join(judge(abi, has_seccomp=True, namespaces=namespaces, bubblewrap=None, root=False).reasons)

    assert "port" in said(3, namespaces=True)
    assert "signal" in said(5, namespaces=False)
    assert "signal" not in said(5, namespaces=True)
    assert said(7, namespaces=True) == ""


def test_probe_finds_this_machine() -> None:
    found = probe()
    assert isinstance(found, Support)
    assert found is probe()


def test_readable_never_holds_a_private_place() -> None:
    home = Path.home()
    for engine in (False, True):
        for path in system_paths.readable(engine=engine):
            assert path != home
            assert not any(
                path == Path(p) for p in ("/", "/root", "/home", "/run", "/var", "/tmp", "/proc", "/sys", "/etc")
            )


async def test_built_in_benchmarks_stay_hidden_inside_a_readable_folder(
    run: Run, means: Support, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the wheel lies in a system-wide site-packages, which commands may read."""
    packages = tmp_path / "lib" / "site-packages"
    for name in ("other/module.py", "benchmarks/chores/CASE-001/rubric/README.md"):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(f"TEXT {name}")
    system = system_paths.readable(engine=False)
    script = (
        f"cat {packages}/other/module.py; cat {packages}/benchmarks/chores/CASE-001/rubric/README.md; ls {packages}"
    )
    planning.forget()
    monkeypatch.setattr(system_paths, "readable", lambda engine: (*system, tmp_path / "lib"))
    open_to_all = await run(script, support=means)
    planning.forget()
    monkeypatch.setattr(system_paths, "hidden", lambda: (packages / "benchmarks",))
    done = await run(script, support=means)
    monkeypatch.undo()
    planning.forget()
    assert b"TEXT benchmarks" in open_to_all.output
    assert b"TEXT other" in done.output
    assert b"TEXT benchmarks" not in done.output
    assert b"other" in done.output.splitlines()
