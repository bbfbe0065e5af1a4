"""The home: whose it is, who may read its keys, what it lies on, and what broken-off work has left in it."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from core.foundation.errors import ExuviaError
from core.foundation.visible import visible_line
from core.state.paths import HomePaths, ProjectPaths
from tui.cli.common import demo_hint
from tui.cli.doctor.findings import Finding, World

_LOW, _FULL = 1 << 30, 50 << 20  # bytes free
_FAR = re.compile(r"^(nfs|cifs|smb|9p|fuse\.sshfs|fuse\.s3|afs|ceph|glusterfs|lustre|virtiofs)")
_STAGING = re.compile(r"^\.(import|tmp|new)-")
_OLD_S = 3600.0  # what is younger may belong to work that goes on
_MOST_DIRECTORIES = 50_000


def home(root: Path, world: World) -> Iterator[Finding]:
    """Look at the home and what it lies on."""
    from core.state.generations import unsupported

    if not root.is_dir():
        yield Finding("home", "ok", f"{root} does not exist yet", f"It is made on first use. {demo_hint()}")
        return
    places = HomePaths(root)
    status = root.stat()
    if not os.access(root, os.W_OK | os.X_OK):
        yield Finding(
            "home", "bad", f"{root} cannot be written", "Use another with --home, or mend its owner and mode."
        )
    else:
        yield Finding("home", "ok", f"{root}: {', '.join(places.project_ids()) or 'no project'}")
    if status.st_uid != os.geteuid():
        yield Finding("home", "warn", f"{root} belongs to user {status.st_uid}, you are {os.geteuid()}",
                      f"chown -R $(id -u) {root}, or use your own with --home.")  # fmt: skip
    if status.st_mode & 0o002:
        yield Finding("home", "bad", f"anyone may change {root} (mode {status.st_mode & 0o777:o})", f"chmod o-w {root}")
    for text in unsupported(places):
        yield Finding("home", "warn", text, "Read it with the program that wrote it, for now.")
    yield from key_files(places)
    yield free_space(root, shutil.disk_usage(root).free)
    yield from file_system(root, world)


def key_files(places: HomePaths) -> Iterator[Finding]:
    """Say which files with keys others may read."""
    open_ones = [path for path in _key_files(places) if path.stat().st_mode & 0o077]
    for path in open_ones:
        mode = path.stat().st_mode & 0o777
        yield Finding("keys", "bad", f"{path} can be read by others (mode {mode:o})", f"chmod 600 {path}")
    if not open_ones and any(_key_files(places)):
        yield Finding("keys", "ok", "only you can read the files that hold keys")


def _key_files(places: HomePaths) -> Iterator[Path]:
    for name in places.project_ids():
        project = places.project(name)
        if project.config.is_file():
            yield project.config
        for agent_id in project.agent_ids():
            if (vault := project.agent(agent_id).vault).is_file():
                yield vault


def free_space(root: Path, free: int) -> Finding:
    """Judge the space that is left, in bytes."""
    said = f"{free >> 20:,} MiB free at {root}"
    if free < _FULL:
        return Finding("disk", "bad", said, "Free some space: a run would stop at its next record.")
    return Finding("disk", "warn", said, "Free some space.") if free < _LOW else Finding("disk", "ok", said)


def file_system(root: Path, world: World) -> Iterator[Finding]:
    """Say what a file system over the network costs."""
    kind = file_system_at(os.path.realpath(root), world.read("/proc/self/mountinfo") or "")
    if kind and _FAR.match(kind):
        yield Finding("disk", "warn", f"the home lies on {kind}: changes by other machines are told late or not at all",
                      "Keep the home on a local disk; copy it away with 'exuvia snapshot export'.")  # fmt: skip
    elif kind:
        yield Finding("disk", "ok", f"file system {kind}")


def file_system_at(path: str, mountinfo: str) -> str:
    """Return the type of the file system that holds `path`, from the text of /proc/self/mountinfo; "" if not told."""
    best, kind = "", ""
    for line in mountinfo.splitlines():
        head, _, tail = line.partition(" - ")
        fields = head.split()
        if len(fields) < 5 or not tail:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # the last of equals lies on top
            best, kind = point, tail.split()[0]
    return kind


def watches(root: Path, world: World, used: int) -> Iterator[Finding]:
    """Say whether the kernel has watches left for the home: without them files are polled, later and for more CPU.

    `used` is how many inotify watches this user holds already.
    """
    limit = (world.read("/proc/sys/fs/inotify/max_user_watches") or "").strip()
    if not limit.isdecimal() or not root.is_dir():
        return
    needed = _directories(root)
    left = int(limit) - used
    said = f"{left:,} of {int(limit):,} file watches left, the home needs about {needed:,}"
    if left < needed:
        more = 1 << (int(limit) + needed).bit_length()
        yield Finding("watches", "warn", f"{said}: the console will poll", f"sysctl fs.inotify.max_user_watches={more}")
    else:
        yield Finding("watches", "ok", said)


def _directories(root: Path) -> int:
    count = 0
    for _ in os.walk(root):
        count += 1
        if count >= _MOST_DIRECTORIES:
            break
    return count


def watches_used() -> int:
    """Return the inotify watches of those processes that we may look into."""
    count = 0
    for process in Path("/proc").glob("[0-9]*/fdinfo"):
        with suppress(OSError):
            for descriptor in os.scandir(process):
                with suppress(OSError):
                    link = os.readlink(process.parent / "fd" / descriptor.name)  # noqa: PTH115  # many of them
                    if link == "anon_inode:inotify":
                        count += Path(descriptor.path).read_text().count("inotify wd:")
    return count


def leftovers(root: Path) -> Iterator[Finding]:
    """Say what killed engines, rollbacks and imports have left, and what to do about each."""
    if not root.is_dir():
        return
    found = False
    for name in (places := HomePaths(root)).project_ids():
        for finding in (*_dead_runs(places.project(name)), *_broken_off(places.project(name))):
            found = True
            yield finding
    if not found:
        yield Finding("leftovers", "ok", "nothing that broken-off work has left")


def _dead_runs(project: ProjectPaths) -> Iterator[Finding]:
    from core.evolution import runs
    from core.evolution.events import read_journal
    from core.evolution.orphans import recorded_targets
    from core.evolution.run_paths import run_paths

    for view in runs.list_runs(project):
        if view.state in {"running", "waiting"}:
            continue
        targets = recorded_targets(read_journal(run_paths(project, view.run_id).journal)[0])
        if view.state == "dead":
            yield Finding("leftovers", "warn", f"run {view.run_id} died: {view.reason}",
                          f"exuvia runs resume {view.run_id}   (or: exuvia runs stop {view.run_id})")  # fmt: skip
        if targets:
            yield Finding("leftovers", "warn", f"{len(targets)} processes of run {view.run_id} still live",
                          f"exuvia runs stop {view.run_id}")  # fmt: skip


def _broken_off(project: ProjectPaths) -> Iterator[Finding]:
    from core.state import rollback

    for agent_id in project.agent_ids():
        with suppress(ExuviaError):
            if (swap := rollback.pending(project.agent(agent_id))) is not None:
                yield Finding("leftovers", "warn", f"a {swap.action.replace('_', ' ')} of {agent_id} was cut off",
                              f"Nothing is lost; this completes it: exuvia snapshot create {agent_id}")  # fmt: skip
    old = time.time() - _OLD_S
    for directory in (project.root.parent, project.root, project.agents):
        with suppress(OSError):
            for entry in os.scandir(directory):
                if _STAGING.match(entry.name) and entry.stat(follow_symlinks=False).st_mtime < old:
                    path = visible_line(entry.path)
                    yield Finding("leftovers", "warn", f"{path} was never finished", f"Remove it: rm -r '{path}'")
