"""The rehearsal model: a deterministic, offline stand-in that plays every role of the loop by rule.

Its numbers are rehearsal numbers and have no price. It reaches the engine through the same interface, messages
and tools as any model, and each reply is a pure function of the request and the seed.
"""

from core.models.rehearsal.options import RehearsalOptions
from core.models.rehearsal.provider import RehearsalProvider

__all__ = ["RehearsalOptions", "RehearsalProvider"]
