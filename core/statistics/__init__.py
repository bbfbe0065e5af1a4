"""Pure statistics of scores: paired differences, intervals, exact tests, power. Empty until verdicts need them."""
