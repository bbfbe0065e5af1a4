"""The command line. Imports neither textual nor torch until a command needs them."""
