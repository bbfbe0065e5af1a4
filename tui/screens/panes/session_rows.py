"""A run and a Session as rows: in columns on one line where there is room, else on two lines. Pure."""

from __future__ import annotations

from functools import lru_cache
from time import time

from tui.palette import MARKS, STATES, score_tone
from tui.screens.panes.base import elapsed, points, span_of
from tui.stores.session_lines import RunLine, SessionLine, began
from tui.widgets.line_list import Row
from tui.widgets.spans import Line, Span, fit, joined, middle, short, two_sided, width_of

WIDE = 100
"""Cells from which a row is one line of columns."""
LATE_S = 10
"""Seconds without a sign of life from which an engine is worth a look: it gives one each second."""
_ROLE, _STATE, _STEP, _TURNS, _TOKENS, _COST, _TIME, _BEAT = 11, 9, 11, 6, 7, 12, 8, 9


def counted(number: int) -> str:
    """Return a count as people read it at a glance: 812, 18.2k, 3.4M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def coins(known: float, unknown: int) -> str:
    """Return a cost in a few cells: "?" stands for what nobody told, which is never 0."""
    if not unknown:
        return f"${known:.4f}" if known else "$0"
    return f"${known:.4f}+?" if known else "$?"


def age_of(moment_ms: int | None, now_s: float | None = None) -> int | None:
    """Return the whole seconds since a moment, None where there is none."""
    return None if moment_ms is None else max(0, int((time() if now_s is None else now_s) - moment_ms / 1000))


def beat(run: RunLine) -> Span:
    """Return the sign of life of a run's engine: how long ago, or that there is none any more."""
    if run.state == "dead":
        return ("gone", "bad")
    age = age_of(run.beat_ms) if run.is_live else None
    if age is None:
        return ("", "dim")
    return (f"{age} s ago", "warn" if age > LATE_S else "dim")


def note(key: str, first: str, second: str, width: int, tone: str = "dim") -> Row:
    """Return a row that only says something."""
    if width >= WIDE:
        return Row(key, (((f"{first} {second}".strip(), tone),),), selectable=False)
    return Row(key, (((first, tone),), ((second, tone),)), selectable=False)


def heading(width: int) -> Row:
    """Return the names of the columns."""
    right = (
        fit("own turns", _TURNS + 4, right=True) + fit("tokens", _TOKENS + 1, right=True)
        + fit("cost", _COST + 1, right=True) + fit("elapsed", _TIME + 1, right=True)
        + fit("beat", _BEAT + 1, right=True)
    )  # fmt: skip
    left = fit("role", _ROLE) + fit("state", _STATE) + fit("step", _STEP)
    return Row("columns", (two_sided(((left, "dim"), ("doing", "dim")), ((right, "dim"),), width),), selectable=False)


def _columns(
    head: tuple[Span, Span, Span], doing: Line, used: tuple[str, str, str, str], last: Span, width: int
) -> Line:
    """Return a line of columns: role, state, step, what it does; turns, tokens, cost, time; sign of life."""
    (role, role_tone), (state, state_tone), (step, step_tone) = head
    left: Line = (
        (fit(role, _ROLE - 1) + " ", role_tone),
        (fit(state, _STATE - 1) + " ", state_tone),
        (fit(step, _STEP - 1) + " ", step_tone),
        *doing,
    )
    turns, tokens, cost, spent = used
    numbers = (
        fit(turns, _TURNS, right=True) + fit(tokens, _TOKENS + 1, right=True) + fit(cost, _COST + 1, right=True)
        + fit(spent, _TIME + 1, right=True)
    )  # fmt: skip
    return two_sided(left, ((numbers, "plain"), (fit(last[0], _BEAT + 1, right=True), last[1])), width)


def run_doing(run: RunLine) -> Line:
    """Return what a run does, waits for, or came to; that of another program says so first."""
    if run.observed:
        return (("observed  ", "accent"), *_doing(run))
    return _doing(run)


def _doing(run: RunLine) -> Line:
    if run.then and run.kind == "build":
        return ((f"{run.then}: S starts the Optimizer", "mark"),)
    if run.is_live:
        phase = f"{run.phase}: " if run.phase and run.cases else run.phase
        return ((phase, "dim" if run.cases else "plain"), (", ".join(run.cases), "plain"))
    if run.reason:
        return ((run.reason, "dim" if run.observed and run.state == "finished" else "warn"),)
    where: Span = (f"{run.agent_id} / {run.benchmark_id}", "dim")
    return ((f"{run.came}  ", "plain"), where) if run.came else (where,)


def run_row(run: RunLine, width: int) -> Row:
    """Return a run's row."""
    tone = STATES.get(run.state, "plain")
    spent = elapsed(run.started_ms, None if run.is_live else run.updated_ms)
    turns = str(run.turns or "")
    spent_any = run.tokens or run.cost or run.unknown
    tokens = counted(run.tokens) if run.tokens else ""  # none told is unknown, not 0
    cost = coins(run.cost, run.unknown) if spent_any else ""
    last = beat(run)
    find = (
        f"role:{run.role} state:{run.state} agent:{run.agent_id} benchmark:{run.benchmark_id} run:{run.run_id} "
        f"phase:{run.phase} {' '.join(f'case:{case}' for case in run.cases)} {run.reason}"
    )
    if width >= WIDE:
        role: Span = (run.role, "strong")
        doing = run_doing(run)
        if run.state == "waiting":
            doing = ((f"{run.waits} wait for you: 6  " if run.waits > 1 else "waits for you: 6  ", "mark"), *doing)
        used = (turns, tokens, cost, spent)
        line = _columns((role, (run.state, tone), (run.step, "plain")), doing, used, last, width)
        return Row(f"run:{run.run_id}", (line,), find=find)
    state = "waits for you: 6" if run.state == "waiting" and width > 50 else run.state
    head: Line = ((f"{run.role:<9} ", "strong"), (state, tone))
    if run.phase and run.is_live and width > 60:
        head = (*head, (f"  {run.phase}", "plain"))
    first = two_sided(head, ((f"{run.step}  ", "plain"), (spent, "dim")), width)
    facts = [last]
    if width > 60:
        facts = [
            (f"{turns} own turn{'' if turns == '1' else 's'}" if turns else "", "dim"),
            (f"{tokens} in all" if tokens else "", "dim"),
            (cost, "dim"),
            last,
        ]
    doing = run_doing(run)
    if run.is_live and run.cases:
        doing = ((", ".join(run.cases), "plain"),)
        doing = (("observed  ", "accent"), *doing) if run.observed else doing
    elif run.is_live and width <= 60:
        doing = ((run.phase, "plain"),)
    second = two_sided((("  ", "plain"), *doing), joined([fact for fact in facts if fact[0]]), width)
    return Row(f"run:{run.run_id}", (first, second), find=find)


def session_row(session: SessionLine, width: int) -> Row:
    """Return a Session's row; one that has ended never looks otherwise, so it is made once for a width."""
    return _session_row(session, width) if session.live else _ended_row(session, width)


@lru_cache(maxsize=2048)
def _ended_row(session: SessionLine, width: int) -> Row:
    return _session_row(session, width)


def _session_row(session: SessionLine, width: int) -> Row:
    about = session.about or "(no prompt yet)"
    mark, tone = MARKS.get(session.state, ("", "plain"))
    state: Span = (session.state, tone)
    if session.score is not None:
        state = (points(session.score), score_tone(session.score))
    elif not session.state:
        state = ("live", "good") if session.live else ("", "dim")
    used = session.used if session.used and session.used.turns else None
    turns = str(used.turns) if used else ""
    tokens = counted(used.tokens) if used and used.tokens else ""  # none told is unknown, not 0
    cost = coins(used.usd, used.unknown) if used else ""
    spent = _spent(session)
    age = age_of(session.beat_ms) if session.live else None
    last: Span = ("", "dim") if age is None else (f"{age} s ago", "warn" if age > 6 * LATE_S else "dim")
    key = f"session:{session.session_id}"
    find = (
        f"role:{session.role} state:{session.state} agent:{session.agent_id} case:{session.case_id} "
        f"run:{session.run or ''} stage:{session.stage} {'live' if session.live else ''} {session.title} "
        f"{session.session_id}"
    )
    role = session.role or "session"
    if width >= WIDE:
        name: Line = ((f"{mark} " if mark else "  ", tone), (about, "plain"))
        when = began(session.session_id) or middle(session.session_id, 14)
        head: tuple[Span, Span, Span] = ((role, "plain"), state, (session.stage, "dim"))
        room = width - _ROLE - _STATE - _STEP - _TURNS - _TOKENS - _COST - _TIME - _BEAT - 5
        doing = (*name, (" " * max(1, room - width_of(about) - 2 - width_of(when)), "plain"), (when, "dim"))
        line = _columns(head, doing if room > width_of(about) + 18 else name, (turns, tokens, cost, spent), last, width)
        return Row(key, (line,), find=find)
    right = joined([state, last]) if last[0] else (state,)
    room = max(8, width - sum(width_of(text) for text, _ in right) - 1)
    first = two_sided(((short(f"{mark} {about}" if mark else about, room), "plain"),), right, width)
    told: list[Span] = [(role, "dim"), (session.stage, "dim")]
    if width > 60:
        told += [(began(session.session_id), "dim")]
    facts: list[Span] = [(spent, "dim")]
    if width > 60:
        facts = [
            (f"{turns} turn{'' if turns == '1' else 's'}" if turns else "", "dim"),
            (tokens, "dim"),
            (cost, "dim"),
            (spent, "dim"),
        ]
    second = two_sided((("  ", "plain"), *joined(told)), joined([fact for fact in facts if fact[0]]), width)
    return Row(key, (first, second), find=find)


def _spent(session: SessionLine) -> str:
    """Return how long a Session took, or has taken so far."""
    if session.duration_ms is not None:
        return span_of(session.duration_ms)
    used = session.used
    if used is None or used.first_ms is None or used.last_ms is None:
        return ""
    return elapsed(used.first_ms, None) if session.live else span_of(used.last_ms - used.first_ms)
