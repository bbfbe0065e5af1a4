"""Model providers behind one streaming interface, and the rehearsal model."""
