"""The loop: benchmark, evaluation, optimization, as a protocol whose only doors are tools."""
