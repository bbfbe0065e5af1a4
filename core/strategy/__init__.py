"""The executive strategy layer: how skills are triggered, combined and checked (docs/strategies.md)."""
