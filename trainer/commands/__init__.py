"""The commands of `python -P -m trainer`, one module each."""
