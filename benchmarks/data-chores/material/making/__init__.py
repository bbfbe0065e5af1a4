"""How the input files and gold sets of the Cases are made; see generate.py."""
