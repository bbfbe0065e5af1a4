"""From a Project's configuration to the way to a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.foundation.errors import NotFoundError, UsageError
from core.models.interface import Price
from core.models.openai import OpenAIProvider
from core.models.registry import entries, resolve, route_of
from core.models.rehearsal.options import RehearsalOptions
from core.models.rehearsal.provider import RehearsalProvider
from core.models.route import Route
from core.state.paths import ProjectPaths

CONFIG = """
[[models]]
provider = "deepseek"
model_id = "deepseek-v4-flash"
context_window = 1000000
[models.pricing]
unit = "usd_per_mtok"
cache_read = 0.1
cache_write = 1
output = 4

[[models]]
provider = "other"
model_id = "deepseek-v4-flash"
base_url = "http://user:pw@127.0.0.1:8123/v1"
api_key = "sk-other"

[[models]]
provider = "custom"
model_id = "nowhere"

[[models]]
provider = "anthropic"
model_id = "messages"
client_type = "ant-messages"

[[models]]
provider = "custom"
model_id = "bad"
base_url = "ftp://x"
"""


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    (tmp_path / ".project_config.toml").write_text(CONFIG)
    return ProjectPaths(tmp_path)


def test_the_pair_decides_and_the_environment_helps_its_group(project: ProjectPaths) -> None:
    environ = {"DEEPSEEK_API_KEY": "sk-env", "OPENAI_API_KEY": "sk-no"}
    first = route_of(project, "deepseek", "deepseek-v4-flash", environ=environ)
    assert first.base_url == "https://api.deepseek.com/v1"
    assert first.key is not None
    assert first.key.get_secret_value() == "sk-env"
    assert first.entry.price == Price(0.1, 1, 4)
    assert first.address() == ("api.deepseek.com", 443)
    second = route_of(project, "other", "deepseek-v4-flash", environ=environ)
    assert second.key is not None
    assert second.key.get_secret_value() == "sk-other"
    assert second.entry.price is None
    assert second.address() == ("127.0.0.1", 8123)
    assert "sk-" not in repr(first) + repr(second)
    assert isinstance(second.make_provider(), OpenAIProvider)


def test_what_cannot_be_reached_is_said_before_a_run(project: ProjectPaths) -> None:
    with pytest.raises(NotFoundError):
        route_of(project, "deepseek", "unknown", environ={})
    with pytest.raises(NotFoundError):
        route_of(project, "rehearsal", "unknown", environ={})
    with pytest.raises(UsageError, match="base_url"):
        route_of(project, "custom", "nowhere", environ={})
    with pytest.raises(UsageError, match="ant-messages"):
        route_of(project, "anthropic", "messages", environ={})
    with pytest.raises(UsageError, match="no http"):
        route_of(project, "custom", "bad", environ={}).address()


def test_rehearsal_needs_no_configuration(project: ProjectPaths) -> None:
    provider, entry = resolve(project, "rehearsal", "rehearsal-1", seed=11, environ={})
    assert isinstance(provider, RehearsalProvider)
    assert provider.options.seed == 11
    assert entry.price is None
    assert route_of(project, "rehearsal", "rehearsal-clumsy", environ={}).address() is None
    assert [entry.ref.model_id for entry in entries(project)][-2:] == ["rehearsal-1", "rehearsal-clumsy"]


def test_a_route_goes_through_a_pipe_whole(project: ProjectPaths) -> None:
    options = RehearsalOptions(seed=3, faults={"slow": 0.5})
    for route in (
        route_of(project, "other", "deepseek-v4-flash", environ={}),
        route_of(project, "deepseek", "deepseek-v4-flash", environ={}),
        route_of(project, "rehearsal", "rehearsal-1", environ={}, rehearsal=options),
    ):
        again = Route.from_json(json.loads(json.dumps(route.as_json())))
        assert again.as_json() == route.as_json()
        assert again.entry.price == route.entry.price
