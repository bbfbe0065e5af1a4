"""What a difference is worth: exact tests, intervals, and the smallest effect that a study could have seen.

Pure functions of plain numbers, without numpy. What was not measured is None and left out, counted; it is never 0.
"""
