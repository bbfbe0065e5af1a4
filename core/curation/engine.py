"""The process of a `curate` run: `python -P -m core.curation.engine <run directory>`.

The engine of every run (`core.evolution.engine`), with this room's own flow: nothing below knows of curators.
"""

from __future__ import annotations

import sys

from core.curation.agent_curation import curate_flow
from core.evolution import engine
from core.evolution.flows import Flow, flow_of
from core.evolution.specs import CurateSpec, RunSpec


def flows(spec: RunSpec) -> Flow:
    """Return what a run of this kind does."""
    return curate_flow if isinstance(spec, CurateSpec) else flow_of(spec)


if __name__ == "__main__":
    sys.exit(engine.main(flows=flows))
