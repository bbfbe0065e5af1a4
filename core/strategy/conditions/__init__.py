"""Conditions: when a strategy is used, which branch is taken, whether an output is right (STRATEGY S9 to S13, X3).

The language is Common Expression Language through the binding `cel`, cut down to what a trigger needs. Written here is
only what the binding lacks: it names the roots of an expression, not its paths, gives no tree and no types, and breaks
off with a panic on deeply nested text. So `parser` reads the text first, `checking` compares names and types with the
registry, and what has passed is compiled and evaluated by the binding.
"""
