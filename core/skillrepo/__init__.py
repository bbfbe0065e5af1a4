"""SKILL.md documents: the one reader, and a strict writer."""
