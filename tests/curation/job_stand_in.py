"""A job's process for tests: counts in `events.jsonl`, pauses when told, and leaves when asked, or never.

`python -P -m tests.curation.job_stand_in DIRECTORY [deaf|faulty]`
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from core.curation import jobs
from core.state.jsonlines import append_record


def main(root: Path, manner: str) -> int:
    if manner == "faulty":
        sys.stderr.write("nothing to work with\n")
        return 1
    with jobs.at_work(root) as work:
        count = 0
        while manner == "deaf" or not work.stopping:
            work.wait_while_paused()
            append_record(work.job.events, {"count": count}, fsync=False)
            count += 1
            time.sleep(0.02)
        append_record(work.job.events, {"left": True})
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
