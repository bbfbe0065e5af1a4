"""Task groups for training a curator: by task type, or by shared skills, concepts and pitfalls (CURATION 1.5, K7)."""
