"""The curator in use: a trained checkpoint that the operator has approved, by its hash (K17, the inbox).

`<project>/.exuvia/curator.json` names one checkpoint. It is written for an approval of kind "promotion" alone, so that
who curates the operator's agents is always somebody's decision, with a name and a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.curation.fields import Fields
from core.curation.training import read_run, run_paths
from core.curation.training_records import Checkpoint
from core.curation.training_run import TrainingRun
from core.foundation import strict_json
from core.foundation.clock import now_s
from core.foundation.errors import ConflictError, DamagedError, ExuviaError, NotFoundError, UsageError
from core.state import approvals, atomic, audit, readonly
from core.state.approvals import Approval, Decision, Verdict
from core.state.locks import held
from core.state.paths import ProjectPaths

KIND = "promotion"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class CuratorInUse:
    """The checkpoint that curates: `path` is its directory, `sha256` of its weights, `heldout` its success there."""

    run_id: str
    step: int
    path: Path
    sha256: str
    heldout: float | None
    world: str
    preset: str
    approval_id: str
    actor: str
    signature: str
    time: str


def propose(project: ProjectPaths, run_id: str, step: int | None = None) -> Approval:
    """Ask the operator whether a checkpoint shall be the curator in use; the best one where `step` is None.

    The same checkpoint is asked about once. Raises NotFoundError where there is none, DamagedError where its weights
    are not those that the run wrote down.
    """
    readonly.refuse(project.root)
    run = read_run(project, run_id)
    chosen = _chosen(run, step)
    _verify(project, run_id, chosen.path, chosen.sha256)
    approval = Approval(
        id=f"{KIND}-{run_id}-{chosen.step}",
        kind="promotion",
        agent_id="",
        title=f"Use the curator of {run_id}, step {chosen.step}?",
        body={**_facts(run, chosen), "arms": _arms(run), "now": _now(project)},
    )
    asked, decision = _before(project, approval.id)
    if decision is not None:
        raise ConflictError(
            f"Step {chosen.step} of {run_id} was decided before: {decision.verdict} by {decision.signature}, "
            f"{decision.time}.",
            hint="Choose another checkpoint with --step.",
        )
    if asked is None:
        approvals.request(project, approval)
    return asked or approval


def decide(
    project: ProjectPaths, approval_id: str, verdict: Verdict, reason: str = "", actor: str | None = None
) -> Decision:
    """Approve or reject a promotion. Approved, its checkpoint is the curator in use once this returns.

    Raises as `approvals.decide`, and DamagedError where the weights have changed since it was asked: then nothing is
    decided.
    """
    readonly.refuse(project.root)
    approval, _ = approvals.get(project, approval_id)
    if verdict == "approve":
        body = Fields(approval.body)
        _verify(project, _text(body, "run_id"), _text(body, "path"), _text(body, "sha256"))
    decision = approvals.decide(project, approval_id, verdict, reason, actor)
    complete(project)
    return decision


def complete(project: ProjectPaths) -> None:
    """Bring `curator.json` up to the latest approval, where a process ended between the two."""
    latest = _latest(project)
    if latest is None:
        return
    approval, decision = latest
    with held(project.own / "locks" / "curator.lock"):
        if approval.id in _settled(project):
            return
        facts = {name: approval.body.get(name) for name in _KEPT}
        who = {"actor": decision.actor, "signature": decision.signature, "time": decision.time}
        document = {**facts, "approval_id": approval.id, **who}
        atomic.write_text(project.curator, strict_json.dumps(document, indent=1) + "\n")


def dismiss(project: ProjectPaths, actor: str | None = None) -> CuratorInUse:
    """Let no trained curator be in use any more. Returns the one that was; raises NotFoundError where none is."""
    readonly.refuse(project.root)
    with held(project.own / "locks" / "curator.lock"):
        now = in_use(project)
        if now is None:
            raise NotFoundError("No trained curator is in use.", hint="Propose one: exuvia train promote RUN")
        document = {"dismissed": now.approval_id, "time": now_s()}
        atomic.write_text(project.curator, strict_json.dumps(document, indent=1) + "\n")
    audit.record(project, "dismiss", now.run_id, {"step": now.step, "sha256": now.sha256}, actor)
    return now


def in_use(project: ProjectPaths) -> CuratorInUse | None:
    """Return the curator in use, None where there is none. Raises DamagedError where the file can't be read."""
    try:
        document = strict_json.parse(project.curator.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
        fields = Fields(document)
        if fields.has("dismissed"):
            return None
        run_id = fields.text("run_id")
        return CuratorInUse(
            run_id=run_id,
            step=fields.whole("step"),
            path=_inside(project, run_id, fields.text("path")),
            sha256=fields.text("sha256"),
            heldout=fields.share("heldout"),
            world=fields.text("world", ""),
            preset=fields.text("preset", ""),
            approval_id=fields.text("approval_id"),
            actor=fields.text("actor"),
            signature=fields.text("signature"),
            time=fields.text("time"),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, UsageError) as error:
        raise DamagedError(
            f"{project.curator.name} cannot be read: {error}", hint="Promote a checkpoint again to replace it."
        ) from error


def verified(project: ProjectPaths) -> CuratorInUse | None:
    """Return the curator in use after its weights were hashed. Raises DamagedError where they are others."""
    found = in_use(project)
    if found is not None:
        _verify(project, found.run_id, str(found.path.relative_to(run_paths(project, found.run_id).root)), found.sha256)
    return found


def _settled(project: ProjectPaths) -> tuple[str, str]:
    """Return the approval that `curator.json` stands for, and the one that was dismissed; "" for none."""
    try:
        document = strict_json.parse(project.curator.read_bytes())
    except (OSError, ValueError):
        return "", ""  # what can't be read is written anew from the approval
    if not isinstance(document, dict):
        return "", ""
    return str(document.get("approval_id", "")), str(document.get("dismissed", ""))


def weights_hash(directory: Path) -> str:
    """Return `sha256:<hex>` over the weight files of a checkpoint, names and bytes; "" where it has none.

    It is what a checkpoint event carries (trainer.checkpoint.weights_hash).
    """
    digest = hashlib.sha256()
    files = sorted(directory.glob("*.safetensors"))
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}" if files else ""


_KEPT = ("run_id", "step", "path", "sha256", "heldout", "world", "preset")


def _chosen(run: TrainingRun, step: int | None) -> Checkpoint:
    kept = run.history.checkpoints
    found = run.best if step is None else next((one for one in kept if one.step == step), None)
    if found is None:
        known = ", ".join(str(one.step) for one in kept) or "none yet"
        raise NotFoundError(
            f"Run {run.id} has no checkpoint" + (f" of step {step}." if step is not None else "."),
            hint=f"Checkpoints at steps: {known}.",
        )
    return found


def _facts(run: TrainingRun, chosen: Checkpoint) -> dict[str, Any]:
    found: dict[str, Any] = {"run_id": run.id, "step": chosen.step, "path": chosen.path, "sha256": chosen.sha256}
    return {**found, "heldout": chosen.heldout, "world": run.world, "preset": run.preset, "seed": run.seed}


def _arms(run: TrainingRun) -> dict[str, Any]:
    """Return what the run measured on held-out tasks, for the one who decides."""
    found: dict[str, Any] = {}
    for arm in ("none", "base", "trained", "oracle"):
        measured = run.heldout(arm)
        if measured is not None:
            found[arm] = {
                "step": measured.step,
                "split": measured.split,
                "weights": measured.weights,
                "success": measured.success_micro,
                "steps": measured.steps_mean,
                "tasks": measured.tasks,
            }
    return found


def _now(project: ProjectPaths) -> Mapping[str, Any] | None:
    """Return what would be replaced."""
    try:
        now = in_use(project)
    except DamagedError:
        return None
    return None if now is None else {"run_id": now.run_id, "step": now.step, "heldout": now.heldout}


def _before(project: ProjectPaths, approval_id: str) -> tuple[Approval | None, Decision | None]:
    try:
        return approvals.get(project, approval_id)
    except NotFoundError:
        return None, None


def _latest(project: ProjectPaths) -> tuple[Approval, Decision] | None:
    """Return the promotion that was approved last."""
    found: list[tuple[str, int, Approval, Decision]] = []
    for path in project.approvals.glob(f"{KIND}-*.decision.json"):
        try:
            approval, decision = approvals.get(project, path.name.removesuffix(".decision.json"))
            written = path.stat().st_mtime_ns  # decisions tell their second only
        except (ExuviaError, OSError):
            continue  # not readable: it approves nothing
        if decision is not None and decision.verdict == "approve" and approval.kind == KIND:
            found.append((decision.time, written, approval, decision))
    if not found:
        return None
    *_, approval, decision = max(found, key=lambda each: each[:2])
    return approval, decision


def _inside(project: ProjectPaths, run_id: str, path: str) -> Path:
    """Return a path of a run, never one that leads out of it."""
    root = run_paths(project, run_id).root
    found = root / path
    try:
        inside = found.resolve().is_relative_to(root.resolve())
    except ValueError:  # a NUL, or half a character: no path
        inside = False
    if not inside:
        raise UsageError(f"{path!r} leads out of run {run_id}.", hint="Train again, or choose another checkpoint.")
    return found


def _verify(project: ProjectPaths, run_id: str, path: str, sha256: str) -> None:
    """Raise DamagedError where a checkpoint's weights are not those of `sha256`."""
    try:
        found = weights_hash(_inside(project, run_id, path))
    except OSError as error:
        raise DamagedError(
            f"The weights of {run_id} at {path} cannot be read: {error}", hint="Choose another."
        ) from error
    if not found:
        raise DamagedError(f"There are no weights of {run_id} at {path}.", hint="Choose another checkpoint.")
    if found != sha256:
        raise DamagedError(
            f"The weights of {run_id} at {path} are not those that the run wrote down.",
            hint="They were changed after training; choose another checkpoint, or train again.",
        )


def _text(fields: Fields, name: str) -> str:
    try:
        return fields.text(name)
    except ValueError as error:
        raise DamagedError(f"The promotion is not readable: {error}", hint="Propose the checkpoint again.") from error
