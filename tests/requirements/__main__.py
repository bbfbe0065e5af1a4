"""`python -P -m tests.requirements`."""

from __future__ import annotations

import sys

from tests.requirements import main

raise SystemExit(main(sys.argv[1:]))
