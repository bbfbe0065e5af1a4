"""The built-in skill library: one folder a skill, each with its SKILL.md."""
