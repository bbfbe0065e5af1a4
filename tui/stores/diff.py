"""What a comparison shows: two sides, the files that differ, and why a Candidate differs."""

from __future__ import annotations

from core.evolution.side import Side

__all__ = ["Side"]
