"""What every room of the engine stands on: errors, visible text, clock and identifiers."""
