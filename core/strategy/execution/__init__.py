"""Strategies at work: compiled, selected, run, checked and traced (STRATEGY 1.2 to 1.4, 1.7, 1.8)."""
