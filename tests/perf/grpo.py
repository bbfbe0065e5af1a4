"""GRPO on a tiny Qwen3: our loop beside TRL's GRPOTrainer, in one run, interleaved (make perf).

    python -P -m tests.perf.grpo [--rounds N] [--small]

Two comparisons, each in processes of its own that take turns, so that both see the same machine:
- *identical work*: 32 prompts of 128 tokens in groups of 8, answers of exactly 64 tokens; wanted: 1.15 x TRL;
- *a whole step*: 4 groups x 8 rollouts x 10 positions, lengths as they come, TRL with a rollout function that walks the
  positions (its rows are (group, position), so that all |G| prompts of a rollout share one reward); wanted: 2 x TRL.
Also what our step spends outside the model; wanted: below 15 %. TRL is installed once in an environment of its own over
this one's torch; where it can't be had, its column says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from statistics import median

from tests.perf.speed.anchors import cache

TRL = "trl==1.16.0"
SIDES = ("ours", "trl")


def trl_python() -> Path | None:
    """Return the interpreter that has TRL beside this environment's torch; None where it can't be had."""
    place = cache() / "trl"
    python = place / "bin" / "python"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(place)], capture_output=True, check=False)
        if made.returncode:
            return None
    (packages,) = place.glob("lib/python3.*/site-packages")
    (packages / "base.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    if not (packages / "trl").is_dir():
        argv = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", TRL]
        if subprocess.run(argv, capture_output=True, timeout=900, check=False).returncode:
            return None
    return python


def measured(python: Path, side: str, work: str, *, small: bool, threads: int) -> dict[str, float]:
    """Run one round of one side in a process and return its figures."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "OMP_NUM_THREADS": str(threads),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    argv = [str(python), "-P", "-m", "tests.perf.speed.grpo_rounds", side, work, *(["--small"] if small else [])]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{side}, {work}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="a smoke: less work, no claim")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    python = trl_python()
    if python is None:
        print(f"{TRL} can't be had here: its side is not run.")
    for work, bar in (("identical", 1.15), ("step", 2.0)):
        rounds: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
        for _ in range(asked.rounds):
            for side in SIDES:
                if side == "ours" or python is not None:
                    with_trl = python if side == "trl" and python is not None else Path(sys.executable)
                    rounds[side].append(measured(with_trl, side, work, small=asked.small, threads=asked.threads))
        speeds = {side: [one["tokens"] / one["seconds"] for one in found] for side, found in rounds.items()}
        for side, found in speeds.items():
            told = " ".join(f"{speed:,.0f}" for speed in found) or "not run"
            print(f"{work:>10}  {side:<5} tokens/s of each round: {told}")
        if speeds["trl"]:
            ratios = [ours / theirs for ours, theirs in zip(speeds["ours"], speeds["trl"], strict=True)]
            verdict = "met" if median(ratios) >= bar else "MISSED"
            print(f"{work:>10}  ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); {bar}: {verdict}")
        outside = [one["outside"] for one in rounds["ours"] if "outside" in one]
        if outside:
            print(f"{work:>10}  outside the model: {100 * median(outside):.1f} % of a step (wanted: below 15)")


if __name__ == "__main__":
    main()
