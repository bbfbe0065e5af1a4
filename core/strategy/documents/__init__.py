"""What is written in files: strategies, releases, the bank's settings, skills' schemas. Values only."""
