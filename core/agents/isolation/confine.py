"""Putting a plan into force on the calling process; for our own engine processes, `confine_self`.

The order matters: namespaces and mounts first (a Landlock domain cannot mount), then privileges, then Landlock,
then the filter that forbids what was needed until here. `enforce` is imported by the keeper: nothing heavy at the top.
"""

from __future__ import annotations

import os

from core.agents.isolation import capabilities, landlock, mounts, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.agents.isolation.plan import Plan
    from core.agents.isolation.policy import IsolationPolicy
    from core.agents.isolation.support import Support


def enforce(plan: Plan) -> None:
    """Apply everything of a plan but its namespaces and limits to the calling thread. Raises OSError; no way back."""
    if plan["tree"]:
        mounts.enter_root(plan["tree"])
    capabilities.drop_all()
    if plan["landlock_abi"]:
        landlock.restrict(plan["landlock_abi"], plan["rules"], net=plan["net"], ports=plan["ports"], scoped=True)
    if plan["filter"]:
        seccomp.install(plan["filter"])


_in_force: Support | None = None


def in_force() -> Support | None:
    """Return the means by which this process was confined by `confine_self`, or None."""
    return _in_force


def confine_self(policy: IsolationPolicy, *, resolve: tuple[str, ...] = (), support: Support | None = None) -> Support:
    """Put this engine process under the outer domain, before it runs anything an agent wrote; commands nest in it.

    Files stay open that are open (its trace, its live file). `resolve` are host names looked up now and answered from
    memory afterwards, since inside there is no name service (UDP is refused). Returns the means used. Raises
    IsolationError, after which the process must end: it may be half confined.
    """
    global _in_force  # confinement is a fact about the process
    from core.agents.isolation import plan as planning
    from core.agents.isolation import support as supporting
    from core.agents.isolation.names import pin_names
    from core.foundation.errors import IsolationError

    if _in_force is not None:
        raise IsolationError("this process is confined already")
    means = support or supporting.probe()
    if means.layer == "none" or not (means.landlock_abi or means.user_namespaces):
        raise IsolationError(
            "this machine cannot confine a Target: " + "; ".join(f.what for f in means.findings),
            hint=" ".join(f.fix for f in means.findings[:1]) + " Or pass --allow-unisolated.",
        )
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208  # names alone
        raise IsolationError(
            "only a process with one thread can be confined", hint="Call confine_self first thing in main()."
        )
    pin_names(resolve)
    here = os.getcwd()  # noqa: PTH109  # text, as the plan wants it
    try:
        made = planning.plan(policy, means, engine=True)
        if made["unshare"]:
            mounts.enter_user_namespace(made["unshare"], mapped=made["mapped"])
        capabilities.set_limits(*made["limits"])  # after: a new user namespace counts its own processes
        enforce(made)
        capabilities.hide_memory()
    except OSError as error:
        raise IsolationError(f"the kernel refused to confine this process: {error}") from error
    try:
        os.chdir(here)
    except OSError:
        os.chdir("/")
    _in_force = means
    return means
