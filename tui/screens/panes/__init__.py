"""The panes of the console: each shows one view, and says by message what the operator wants opened."""
