"""What every test may count on, wherever the suite was started from."""

from __future__ import annotations

import signal

# A suite started by nohup or in a script's background inherits ignored signals and would hand them on to every
# program it starts; the tests are about programs that an operator starts at a terminal.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
