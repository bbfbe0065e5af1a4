"""The built-in tools of an agent: files, commands, sub-agents."""
