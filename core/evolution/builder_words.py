"""What the Builder's tools say of themselves to a model."""

from __future__ import annotations

from collections.abc import Mapping

FAILURE_ADVICE: Mapping[str, str] = {
    "benchmark_invalid": "The rubric could not be applied: repair the Case's files and submit the revision again.",
    "version_changed": "The agent or the Case changed while it ran; nothing of this pilot counts. Find out what "
    "did it.",
    "evaluation_failed": "The harness failed, not the agent. Dispatch again with a new, specific `repair`, or "
    "stop_run.",
    "invalid_request": "The request itself was refused. Dispatch again with a `repair` that says what was off.",
}
STATUS = "Return where the protocol stands: phase, pilots, Cases, and which tools may succeed now."
CREATE = (
    "Make the Target Agent at version 1 from the operator's requirement: role and concrete rules in AGENTS.md, "
    "only the "
    "library skills its tasks need. Refused where it exists."
)
CONTRACT = (
    "Declare the Capability Contract and plan every Case with its points (total 100 each), before anything is written. "
    "Makes the benchmark's configuration and an empty scoreboard. Once."
)
SUBMIT = (
    "Fix what the Cases are now as a revision: hashes them, checks that each rubric totals 100, scans for leaks. "
    "Give a "
    "separating prediction for every Case that will run. After a complete pilot it begins the next one and needs "
    "diagnosis and adjustment; a repair does not use up a pilot."
)
REVIEW = (
    'Record the consistency and leak review: scope "revision" for the changed Cases before they are dispatched, scope '
    '"freeze" for all Cases before a freeze. Each verdict is "ok" or the finding. A leak that the scan found is waived '
    "by its id with a reason the operator reads, or confirmed as a finding."
)
DISPATCH = (
    "Have Evaluators run and score the changed Cases, one valid run each; unchanged results are reused. Waits "
    "until the "
    "cells are done."
)
STOP = "End the run without a result that counts, with the true reason."
FREEZE = (
    "Ask for the freeze of the lowest valid pilot, which must stand now and be reviewed whole. Measures what an idle "
    "agent would get, then waits for the operator's decision. A rejection's reason is the answer."
)
RESTORE = "Put the lowest valid pilot's Cases back, byte for byte. A full freeze review has to follow."
BASELINE = (
    "Record the frozen pilot's own results as the Formal Baseline on the scoreboard: no rerun. The Builder's work ends "
    "with it."
)
