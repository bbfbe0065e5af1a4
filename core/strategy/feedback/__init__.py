"""Learning from what happened: bad cases, clusters, suggestions, drafts, comparisons (STRATEGY 1.9, X4)."""
