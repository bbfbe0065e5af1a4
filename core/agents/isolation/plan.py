"""From a policy to what the kernel is asked for: namespaces, a tree, Landlock rules, a filter, limits.

A plan is plain data, so that it can be handed to the keeper, which imports next to nothing.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from core.agents.isolation import landlock, mounts, seccomp, system_paths
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import MINIMUM_ABI_PORTS, Support
from core.foundation.errors import IsolationError

SHARED_MEMORY = "/dev/shm"  # noqa: S108  # a private tmpfs inside, never the machine's
SHARED_MEMORY_SIZE = "64m"


class Plan(TypedDict):
    """What one process is to be put under."""

    unshare: int
    mapped: bool
    tree: list[mounts.Entry]
    landlock_abi: int
    rules: list[tuple[str, int]]
    net: bool
    ports: list[int]
    filter: bytes
    limits: tuple[int, int, int, int]


def plan(policy: IsolationPolicy, support: Support, *, engine: bool = False, inside: bool = False) -> Plan:
    """Plan the confinement of an engine process (`engine`) or a command.

    inside: the caller is confined already, so there is no mounting any more: the command keeps the caller's tree
    and narrows it by Landlock. Raises IsolationError where the machine cannot do what the policy asks.
    """
    _check(policy, support)
    own_tree = support.user_namespaces and not inside
    flags = 0
    if support.user_namespaces:
        flags = mounts.NEW_IPC | (mounts.NEW_NET if policy.network == "none" else 0)
        flags |= 0 if inside else mounts.NEW_NS
        flags |= 0 if engine else mounts.NEW_PID
    limits = policy.limits
    return Plan(
        unshare=flags,
        mapped=not inside,
        tree=_tree(policy, engine=engine) if own_tree else [],
        landlock_abi=support.landlock_abi or 0,
        rules=_rules(policy, engine=engine, namespaces=support.user_namespaces),
        net=policy.network != "full",
        ports=list(policy.connect_ports) if policy.network == "tcp-connect" else [],
        filter=_filter(
            network=policy.network,
            inner=not engine,
            by_path=not engine and not support.user_namespaces,
            ipc=support.user_namespaces,
        )
        if support.seccomp
        else b"",
        limits=(limits.memory_bytes, limits.file_bytes, limits.processes, limits.open_files),
    )


def _check(policy: IsolationPolicy, support: Support) -> None:
    if policy.network == "tcp-connect" and (support.landlock_abi or 0) < MINIMUM_ABI_PORTS:
        raise IsolationError(
            f"this kernel cannot hold a process to TCP ports {list(policy.connect_ports)}",
            hint="Use Linux 6.7 or newer (Landlock ABI 4), or a provider that needs no network.",
        )
    for path in (*policy.read, *policy.write):
        if not path.is_absolute() or path == Path("/"):
            raise IsolationError(f"a policy cannot name {path}", hint="Name absolute paths below the root.")
    for path in policy.write:
        if not path.exists():
            raise IsolationError(f"the policy lets write in {path}, which does not exist", hint="Create it first.")


@lru_cache(maxsize=32)
def _filter(*, network: str, inner: bool, by_path: bool, ipc: bool) -> bytes:
    return seccomp.program(network=network, inner=inner, by_path=by_path, ipc=ipc)


def _rules(policy: IsolationPolicy, *, engine: bool, namespaces: bool) -> list[tuple[str, int]]:
    rules = list(_system_rules(engine=engine))
    rules += [(str(path), landlock.READ) for path in policy.read]
    rules += [(str(path), landlock.WRITE) for path in policy.write]
    if namespaces:
        rules.append((SHARED_MEMORY, landlock.WRITE))
        if engine:
            rules.append((str(system_paths.CODE_ROOT), landlock.LIST))  # an import lists the folder it looks in
    elif engine:
        # Cleaning up after commands means finding them. Landlock keeps others' memory, environment and files shut.
        rules.append(("/proc", landlock.READ_FILE | landlock.READ_DIR))
    return rules


@lru_cache(maxsize=2)
def _system_rules(*, engine: bool) -> tuple[tuple[str, int], ...]:
    rules: list[tuple[Path, int]] = []
    for path in system_paths.readable(engine=engine):
        real = path.resolve()
        secret = next((s for s in system_paths.hidden() if s.is_relative_to(real) and s.exists()), None)
        rules += system_paths.carve(real, secret) if secret else [(path, landlock.READ)]
    return (*((str(path), rights) for path, rights in rules), *((d, landlock.DEVICE) for d in system_paths.DEVICES))


def _tree(policy: IsolationPolicy, *, engine: bool) -> list[mounts.Entry]:
    entries = list(_system_tree(engine=engine))
    named = {path: "ro" for path in policy.read if path.exists()} | dict.fromkeys(policy.write, "rw")
    secrets = _covered_secrets(engine=engine)
    entries += [("mask", str(s), "") for s in secrets if not any(path.is_relative_to(s) for path in named)]
    entries += [(kind, str(path), str(path)) for path, kind in named.items()]
    # Parents before children; among equals the policy's own word comes last and stands
    return sorted(entries, key=lambda entry: entry[1].count("/"))


@lru_cache(maxsize=2)
def _covered_secrets(*, engine: bool) -> tuple[Path, ...]:
    real = [path.resolve() for path in system_paths.readable(engine=engine)]
    return tuple(s for s in system_paths.hidden() if s.exists() and any(s.is_relative_to(r) for r in real))


@lru_cache(maxsize=2)
def _system_tree(*, engine: bool) -> tuple[mounts.Entry, ...]:
    entries: list[mounts.Entry] = []
    system = system_paths.readable(engine=engine)
    folders = [p for p in system if not p.is_symlink()]
    for path in system:
        real = path.resolve()
        if path.is_symlink() and any(real.is_relative_to(f) for f in folders):
            entries.append(("link", str(path), os.readlink(path)))  # noqa: PTH115  # the target as text
        else:
            entries.append(("ro", str(path), str(real)))
    entries += [("dev", device, device) for device in system_paths.DEVICES]
    return (*entries, ("tmp", SHARED_MEMORY, SHARED_MEMORY_SIZE))


def forget() -> None:
    """Look at the system anew (it is looked at once a process)."""
    for cached in (_filter, _system_rules, _system_tree, _covered_secrets):
        cached.cache_clear()
