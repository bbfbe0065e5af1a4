"""The fallback where the kernel lacks Landlock: the same lists, handed to bubblewrap."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from core.agents.isolation import seccomp, system_paths
from core.agents.isolation.policy import IsolationPolicy
from core.agents.isolation.support import Support
from core.foundation.errors import IsolationError


def wrap(argv: Sequence[str], *, policy: IsolationPolicy, cwd: Path, means: Support) -> tuple[list[str], list[int]]:
    """Return a bwrap command line that runs `argv` under `policy`, and the descriptors it must inherit.

    Raises IsolationError for a policy with a network: bubblewrap cannot hold a process to a port.
    """
    if policy.network == "tcp-connect":
        raise IsolationError(
            "bubblewrap cannot hold a process to given TCP ports", hint="Use Linux 6.7 or newer with Landlock."
        )
    options = [str(means.bubblewrap), "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--uid", "1000",
               "--gid", "1000"]  # fmt: skip
    if policy.network == "full":
        options.append("--share-net")
    for path in system_paths.readable(engine=False):
        if path.is_symlink() and len(path.parts) == 2:
            options += ["--symlink", os.readlink(path), str(path)]  # noqa: PTH115  # the target as text
        else:
            options += ["--ro-bind", str(path.resolve()), str(path)]
    for secret in system_paths.hidden():
        if any(secret.is_relative_to(p) for p in system_paths.readable(engine=False)):
            options += ["--tmpfs", str(secret)]
    for device in system_paths.DEVICES:
        options += ["--dev-bind", device, device]
    options += ["--perms", "0700", "--tmpfs", "/dev/shm"]  # noqa: S108  # a private one inside
    named = {path: "--ro-bind" for path in policy.read if path.exists()} | dict.fromkeys(policy.write, "--bind")
    for path, option in sorted(named.items(), key=lambda item: len(item[0].parts)):
        options += [option, str(path), str(path)]
    options += ["--remount-ro", "/", "--chdir", str(cwd)]
    carried: list[int] = []
    if means.seccomp:
        program = seccomp.program(network=policy.network, inner=True, by_path=False, ipc=True)
        fd = os.memfd_create("filter", os.MFD_CLOEXEC)
        os.write(fd, program)
        os.lseek(fd, 0, os.SEEK_SET)
        options += ["--seccomp", str(fd)]
        carried.append(fd)
    return [*options, "--", *argv], carried
