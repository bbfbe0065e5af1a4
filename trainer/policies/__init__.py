"""Curators that learn: the protocol, and one module for each kind."""
