"""The engine of Exuvia: state, traces, models, agents and the evolution loop. No screen, no torch."""

__version__ = "0.1.0"
