"""Versions, states and releases of strategies, and what came of them. Built on execution."""
