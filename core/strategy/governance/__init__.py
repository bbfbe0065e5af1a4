"""Order in a bank of many strategies: laws, graph, audit, conflicts, diagnoses (STRATEGY 1.10 to 1.12, S5, S6)."""
