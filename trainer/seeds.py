"""Seeds of their own for everything random: each is named after what it is for.

A step's randomness depends on the run's seed and on names alone, never on what was drawn before. So a resumed run,
a run in two processes and one in another order of work draw the same.
"""

from __future__ import annotations

from hashlib import sha256


def derive(seed: int, *names: str | int) -> int:
    """Return a seed below 2**63 for the purpose that `names` tell, such as ("answer", step, group, rollout)."""
    text = "/".join((str(seed), *(str(name) for name in names)))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1
