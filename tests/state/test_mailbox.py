"""The operator's words: only a live Session takes them, in order, whole, each once, whoever sends meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from core.foundation.errors import ConflictError, NotFoundError, UsageError
from core.state import audit, mailbox, readonly
from core.state.mailbox import WORD_BYTES
from core.state.paths import ProjectPaths

SESSION = "session-2026-01-01-00-00-00-0badcafe"


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    (tmp_path / "p").mkdir()
    return ProjectPaths(tmp_path / "p")


def test_words_wait_in_order_until_they_are_taken(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="builder", run_id="build-1") as box:
        first = mailbox.send(project, SESSION, "  one\nmore  ", actor="console")
        second = mailbox.send(project, "build-1", "two")
        assert (first.text, first.run_id, first.agent_id, first.actor) == ("one\nmore", "build-1", "a", "console")
        assert "@" in first.signature
        assert box.words() == (first, second) == mailbox.unread(project, SESSION)
        box.taken(first)
        box.taken(first)
        assert box.words() == (second,)
        box.taken(second)
        third = mailbox.send(project, SESSION, "three")
        assert [word.id[:6] for word in (first, second, third)] == ["000001", "000002", "000003"]
        assert {path.name for path in (project.mail / SESSION / "read").iterdir()} == {
            f"{word.id}.json" for word in (first, second)
        }
    told = [(entry.subject, entry.actor, entry.detail["text"]) for entry in audit.read(project)]
    assert told == [(SESSION, "console", "one\nmore"), (SESSION, "operator", "two"), (SESSION, "operator", "three")]
    assert mailbox.unread(project, SESSION) == (third,), "a Session that is resumed reads it"


def test_what_is_sent_is_for_its_owner_alone(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="chat"):
        word = mailbox.send(project, SESSION, "secret plan")
        file = project.mail / SESSION / f"{word.id}.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_nobody_is_sent_to_who_does_not_listen(project: ProjectPaths) -> None:
    with pytest.raises(NotFoundError):
        mailbox.send(project, SESSION, "hello")
    assert not project.own.exists(), "a refusal leaves nothing behind"
    with mailbox.opened(project, SESSION, agent_id="csv_helper", role="chat"):
        assert [one.session_id for one in mailbox.listeners(project)] == [SESSION]
    assert mailbox.listeners(project) == ()
    assert mailbox.address(project, SESSION) is None
    with pytest.raises(ConflictError) as ended:
        mailbox.send(project, SESSION, "hello")
    assert ended.value.hint.endswith(f"exuvia chat csv_helper --resume {SESSION}")
    (project.runs / "build-1").mkdir(parents=True)
    with pytest.raises(ConflictError) as run:
        mailbox.send(project, "build-1", "hello")
    assert "exuvia runs resume build-1" in run.value.hint
    trace = project.agents / "a" / "traces" / "2026-01-01" / "session-x_001.jsonl"
    trace.parent.mkdir(parents=True)
    trace.touch()
    with pytest.raises(ConflictError, match="does not listen"):
        mailbox.send(project, "session-x", "hello")
    for odd in ("../../etc", "", "a b", "x" * 200):
        with pytest.raises(NotFoundError):
            mailbox.send(project, odd, "hello")
        assert mailbox.address(project, odd) is None
    assert audit.read(project) == ()


def test_a_word_has_a_size(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="chat") as box:
        assert len(mailbox.send(project, SESSION, "x" * WORD_BYTES).text) == WORD_BYTES
        for text in ("x" * (WORD_BYTES + 1), "\N{GREEK SMALL LETTER ALPHA}" * (WORD_BYTES // 2 + 1)):
            with pytest.raises(UsageError, match=f"{WORD_BYTES:,}"):
                mailbox.send(project, SESSION, text)
        for text in ("", "  \n"):
            with pytest.raises(UsageError, match="empty"):
                mailbox.send(project, SESSION, text)
        assert len(box.words()) == 1
        half = mailbox.send(project, SESSION, "half \ud83d of it")
        assert box.words()[1] == half
        assert half.text == "half \N{REPLACEMENT CHARACTER} of it"


def test_one_process_listens_for_a_session(project: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "_OPENING_S", 0.05)
    with (
        mailbox.opened(project, SESSION, agent_id="a", role="chat"),
        pytest.raises(ConflictError, match="live in another process"),
        mailbox.opened(project, SESSION, agent_id="a", role="chat"),
    ):
        pass


def test_a_killed_listener_takes_no_more_words(project: ProjectPaths) -> None:
    code = (
        "import sys, time; from pathlib import Path; from core.state import mailbox; from core.state.paths import "
        f"ProjectPaths\nwith mailbox.opened(ProjectPaths(Path({str(project.root)!r})), {SESSION!r}, agent_id='a', "
        "role='chat'):\n print('open', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = mailbox.address(project, SESSION)
        assert found is not None
        assert found.pid == process.pid
        word = mailbox.send(project, SESSION, "before")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with pytest.raises(ConflictError):
        mailbox.send(project, SESSION, "after")
    with mailbox.opened(project, SESSION, agent_id="a", role="chat") as box:
        assert box.words() == (word,)


def _send_many(root: str, name: str) -> None:
    for number in range(10):
        mailbox.send(ProjectPaths(Path(root)), SESSION, f"{name} {number}")


def test_many_senders_lose_no_word_and_share_no_number(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="chat") as box:
        spawn = multiprocessing.get_context("spawn")
        senders = [spawn.Process(target=_send_many, args=(str(project.root), name)) for name in "abc"]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(60)
        words = box.words()
    assert [word.id[:6] for word in words] == [f"{number:06d}" for number in range(1, 31)]
    for name in "abc":
        assert [word.text for word in words if word.text[0] == name] == [f"{name} {number}" for number in range(10)]


def test_a_file_that_is_no_word_is_told_and_stops_nothing(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="chat") as box:
        word = mailbox.send(project, SESSION, "good")
        (box.root / "000009-0000.json").write_bytes(b'{"id": "another", "session_id": "s", "text": "x"}')
        (box.root / "000010-0000.json").write_bytes(b"{")
        (box.root / ".tmp-00000000").write_bytes(b"half")
        assert box.words() == (word,)
        assert len(mailbox.unreadable(project, SESSION)) == 2
        assert mailbox.send(project, SESSION, "next").id.startswith("000011")


def test_a_home_that_may_not_change_sends_nothing_and_still_looks(project: ProjectPaths) -> None:
    with mailbox.opened(project, SESSION, agent_id="a", role="chat"), readonly.sealed(project.root):
        assert mailbox.address(project, SESSION) is not None
        with pytest.raises(readonly.ReadOnlyError):
            mailbox.send(project, SESSION, "hello")
