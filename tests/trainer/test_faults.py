"""What may be wrong with a run's files, settings and numbers: a clear word, no torn checkpoint, no NaN in weights."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from core.foundation import strict_json
from core.foundation.errors import DamagedError, ExuviaError, UsageError
from core.state.atomic import StorageError
from core.state.fresh import ensure_home
from tests.trainer.small import SMALL, ask, events, policy
from trainer import checkpoint, presets
from trainer.commands import run
from trainer.finite import NotFiniteError
from trainer.grpo import Sample, update
from trainer.imitation import imitate
from trainer.policies.loading import open_policy
from trainer.policies.tiny import TinyPolicy, make
from trainer.settings import GrpoOptions, ImitationOptions

# ------------------------------------------------------------------------------------------------- what was asked


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("evaluate_every", -1), ("checkpoint_every", -1), ("max_prompt", 0), ("max_response", -5), ("threads", 10**9),
        ("executor.max_turns", 0), ("executor.temperature", -1.0), ("imitation.batch", 0), ("imitation.lr", 1e300),
        ("imitation.demonstrations", -1), ("grpo.max_gradient_norm", 0.0), ("grpo.minibatches", 0),
        ("retrieval.top_k", -1), ("optimizer.lr", 0.0), ("optimizer.lr", 1e300), ("optimizer.beta1", 1.0),
        ("optimizer.warmup", -3), ("optimizer.weight_decay", -1.0), ("evaluation.streams", -1), ("seed", -1),
        ("evaluation.temperature", -0.1), ("grpo.ratio", [1]), ("steps", True), ("steps", "3"), ("grpo", 1),
    ],
)  # fmt: skip
def test_a_setting_that_trains_nothing_is_refused_by_its_name(key: str, value: object) -> None:
    with pytest.raises(UsageError, match=key):
        presets.resolve("cpu-demo", settings={**SMALL, key: value})


@pytest.mark.parametrize("options", [{"width": 0}, {"width": "x"}, {"heads": 0}, {"layers": 10**6}, {"width": 33}])
def test_a_network_that_can_not_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"width|heads|layers"):
        make("household", seed=0, max_prompt=50, max_answer=10, **options)


REQUESTS = {
    "torn": '{"preset": "cpu',
    "list": "[]",
    "deep": "[" * 100_000,
    "settings are a list": '{"preset": "cpu-demo", "settings": [1]}',
    "seed is true": '{"preset": "cpu-demo", "seed": true}',
    "escape": '{"preset": "\\u001b]0;x\\u0007"}',
    "world takes no options": '{"preset": "cpu-demo", "settings": {"world_options.foo": 1}}',
}
SPECS = {
    "torn": '{"settings":',
    "empty": "{}",
    "settings are a number": '{"settings": 5}',
    "no world": '{"settings": {"steps": 1}}',
    "world is a text": '{"settings": {"steps": 1}, "world": "household"}',
    "a newer version's": '{"settings": {"momentum": 1}}',
    "a newer version's part": '{"settings": {"grpo.newer": 1}}',
    "can't be trained": '{"settings": {"steps": -1}}',
}


@pytest.mark.parametrize(
    ("name", "text"),
    [("request.json", text) for text in REQUESTS.values()] + [("spec.json", text) for text in SPECS.values()],
    ids=[*REQUESTS, *(f"spec: {name}" for name in SPECS)],
)
def test_a_run_whose_files_say_nonsense_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert run.main([str(tmp_path)]) in (1, 2)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.strip().isprintable()
    ends = [strict_json.parse(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(end["event"], end["state"]) for end in ends] == [("end", "failed")]  # whatever an earlier process said
    assert said.startswith(ends[0]["reason"][:60])


# ---------------------------------------------------------------------------------------------- NaN and infinity


def samples(made: TinyPolicy, advantage: float) -> list[Sample]:
    prompts = [[made.book.ids["<bos>"], 9, 10, 11]] * 2
    answers = made.generate(prompts, temperature=1.0, seeds=[1, 2])
    return [Sample(tuple(p), one.ids, one.logprobs, advantage) for p, one in zip(prompts, answers, strict=True)]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_changes_no_weight(value: float) -> None:
    # FAULTS: non-finite values. A reward of NaN is one way to get there.
    made = policy()
    given, before = samples(made, value), {name: weight.clone() for name, weight in made.state().items()}
    with pytest.raises(NotFiniteError, match="no weight was changed"):
        update(made, torch.optim.AdamW(made.parameters(), 1e-3), given, GrpoOptions(minibatches=1))
    assert all(torch.equal(weight, before[name]) for name, weight in made.state().items())


def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    made = policy()
    given = samples(made, 1.0)
    optimizer = torch.optim.AdamW(made.parameters(), 1e-3)
    with torch.no_grad():
        next(iter(made.parameters()))[0, 0] = float("nan")
    with pytest.raises(NotFiniteError):
        checkpoint.write(tmp_path, 1, made, optimizer, {})
    assert checkpoint.complete(tmp_path) == []
    with pytest.raises(NotFiniteError):
        update(made, optimizer, given, GrpoOptions())
    with pytest.raises(NotFiniteError):
        imitate(made, [(one.prompt, one.answer) for one in given], ImitationOptions(steps=1, batch=2), seed=0)


# --------------------------------------------------------------------------------------------------- checkpoints


def kept(root: Path, step: int = 0, seed: int = 1) -> tuple[TinyPolicy, torch.optim.Optimizer]:
    """Write a checkpoint of a run without steps; return what it was written from."""
    made = policy(seed)
    optimizer = torch.optim.AdamW(made.parameters(), 1e-3)
    state = {"validated": {"0": 0.5}, "seconds": 1.0, "cpu_seconds": 1.0, "history": [{}] * step}
    checkpoint.write(root, step, made, optimizer, state)
    return made, optimizer


class Evil:
    """Loaded without a guard, it makes a directory."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def cut(path: Path, size: int = 300) -> None:
    path.write_bytes(path.read_bytes()[:size])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    path.write_bytes(raw)


def say(path: Path, **values: Any) -> None:
    path.write_text(strict_json.dumps({**strict_json.parse(path.read_bytes()), **values}))


@pytest.mark.parametrize(
    ("file", "harm", "words"),
    [
        ("optimizer.pt", cut, "torn"),
        ("optimizer.pt", partial(cut, size=0), "torn"),
        (
            "optimizer.pt",
            lambda path: path.write_bytes(pickle.dumps(Evil(path.with_name("run")), protocol=2)),
            "torn, or holds",
        ),
        ("model.safetensors", cut, "not those that were written"),
        ("model.safetensors", flip, "not those that were written"),
        ("model.safetensors", Path.unlink, "not those that were written"),
        ("state.json", lambda path: path.write_text("{}"), "sha256"),
        ("state.json", partial(say, history="none"), "history"),
        ("state.json", partial(say, history=[{}, {}]), "tells of 2 steps"),
        ("state.json", partial(say, validated={"x": 1}), "x"),
        ("state.json", partial(say, validated={"1": None}), "NoneType"),
    ],
)
def test_a_torn_or_hostile_checkpoint_is_named_and_nothing_of_it_is_run(
    tmp_path: Path, file: str, harm: Callable[[Path], object], words: str
) -> None:
    made, optimizer = kept(tmp_path)
    harm(checkpoint.directory(tmp_path, 0) / file)
    (found,) = checkpoint.complete(tmp_path)
    with pytest.raises(DamagedError, match=words) as caught:
        checkpoint.restore(found, made, optimizer)
    assert "step-00000" in caught.value.hint
    assert not (found.path / "run").exists()


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path) -> None:
    kept(tmp_path)
    other = make("household", seed=1, max_prompt=100, max_answer=20, width=64, layers=1, heads=2)
    (found,) = checkpoint.complete(tmp_path)
    with pytest.raises(DamagedError, match="can't be gone on from"):
        checkpoint.restore(found, other, torch.optim.AdamW(other.parameters(), 1e-3))


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let no file of this process grow beyond 20 kB, as a full disk would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_checkpoints_that_there_are(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # FAULTS: ENOSPC. torch and safetensors tell it each in their own way.
    made, optimizer = kept(tmp_path)
    left = tmp_path / "checkpoints" / ".tmp-step-00009"  # of a process that was killed
    left.mkdir()
    request.getfixturevalue("small_files")
    with pytest.raises(StorageError, match="checkpoint of step 1") as caught:
        kept(tmp_path, step=1)
    assert "resume" in caught.value.hint
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000"]
    (found,) = checkpoint.complete(tmp_path)
    assert found.can_resume
    assert checkpoint.restore(found, made, optimizer).validated == {0: 0.5}


# ------------------------------------------------------------------------------------------------------- policies


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: cut(folder / "model.safetensors"),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: say(folder / "policy.json", shape={"width": 8}),
        lambda folder: say(folder / "policy.json", shape=None),
        lambda folder: say(folder / "policy.json", tokens=5),
        lambda folder: say(folder / "policy.json", world="nowhere"),
        lambda folder: say(folder / "policy.json", kind=["tiny"]),
        lambda folder: (folder / "policy.json").write_text("[" * 100_000),
    ],
    ids=["torn", "no weights", "half a shape", "no shape", "tokens", "another world", "kind", "deep"],
)
def test_a_policy_that_can_not_be_opened_says_so(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    kept(tmp_path)
    folder = shutil.copytree(checkpoint.directory(tmp_path, 0), tmp_path / "handed over")
    harm(folder)
    with pytest.raises(ExuviaError):
        open_policy(folder)


# ------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize("where", ["environment", "config"])
def test_a_key_that_the_provider_repeats_reaches_no_file_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], where: str
) -> None:
    key, seen = "sk-Key-of-a-stranger-0123456789abcdef", list[str]()

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            given = self.headers.get("Authorization", "")
            seen.append(given)
            body = strict_json.dumps({"error": {"message": f"Incorrect API key: {given}"}}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    project = ensure_home(tmp_path / "home")
    entry = f'\n[[models]]\nprovider = "openai"\nmodel_id = "gpt-x"\nbase_url = "http://127.0.0.1:{server.server_port}/v1"\n'
    if where == "config":
        entry += f'api_key = "{key}"\n'
    else:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    config = project.config.read_text() + entry
    project.config.write_text(config)
    root = project.training / "cpu-demo-20260101-100000-aaaa"
    ask(root, judge__content="openai/gpt-x", imitation__steps=4, imitation__demonstrations=40, steps=1)
    try:
        assert run.main([str(root)]) == 1
    finally:
        server.shutdown()
        server.server_close()
    assert seen
    assert all(given == f"Bearer {key}" for given in seen)
    said = events(root, "end")[-1]["reason"]
    assert "Incorrect API key: Bearer [redacted]" in said
    out = capfd.readouterr()
    assert key not in out.out + out.err
    holding = [path for path in project.root.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert holding == ([project.config] if where == "config" else [])
