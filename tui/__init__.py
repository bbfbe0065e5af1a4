"""Everything a person touches in a terminal: the console (Textual) and the command line (click)."""
