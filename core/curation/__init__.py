"""The task stream: run, judge, curate; and curation of real agents as Candidates."""
