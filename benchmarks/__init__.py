"""Built-in benchmarks in the on-disk format, read through importlib.resources."""
