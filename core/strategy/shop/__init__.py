"""A small shop to test strategies in: deterministic, without a model, with a truth of its own (issue 5, S8)."""
