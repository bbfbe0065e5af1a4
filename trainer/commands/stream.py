"""`python -P -m trainer stream DIRECTORY`: walk the task stream that DIRECTORY/spec.json describes."""

from __future__ import annotations

import sys
from pathlib import Path

from core.curation import stream_engine
from core.curation.stream_spec import StreamSpec
from core.curation.worlds import World
from core.foundation.errors import ExitCode, ExuviaError, UsageError
from core.foundation.visible import visible_line
from core.state.paths import ProjectPaths
from trainer.worlds import world_of


def main(argv: list[str]) -> int:
    """Run it; what can't begin is said on standard error, with exit code 2."""
    if len(argv) != 1:
        sys.stderr.write("usage: python -P -m trainer stream DIRECTORY\n")
        return int(ExitCode.USAGE)
    root = Path(argv[0]).resolve()
    try:
        return stream_engine.run(root, ProjectPaths(root.parents[2]), opened)
    except ExuviaError as error:
        sys.stderr.write(visible_line(f"{error} {error.hint}".strip()) + "\n")
        return int(error.exit_code)


def opened(spec: StreamSpec, project: ProjectPaths) -> World:
    """Return the world that a spec names. Raises UsageError where it can't be opened so."""
    name, colon, place = spec.world.partition(":")
    if name != "benchmark":
        return world_of(spec.world, spec.options)
    agent, slash, benchmark = place.partition("/")
    if not colon or not slash or not agent or not benchmark:
        raise UsageError(f"{spec.world!r} names no benchmark.", hint="Write benchmark:AGENT/ID.")
    from core.curation.world_benchmark import open_benchmark

    return open_benchmark(project, agent, benchmark, **spec.options)
