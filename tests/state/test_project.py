"""A Project's configuration without its keys, and its keys apart."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from core.foundation.errors import DamagedError, NotFoundError
from core.state.paths import HomePaths, ProjectPaths
from core.state.project import ModelPair, ModelPrice, credential, endpoint, read_project
from tests.state.golden import FIXTURES

SAMPLE = HomePaths(FIXTURES / "penguin-state").project("default_project")


@pytest.fixture
def project(tmp_path: Path) -> ProjectPaths:
    paths = HomePaths(tmp_path).project("p")
    paths.root.mkdir()
    return paths


def test_the_sample_is_read() -> None:
    config = read_project(SAMPLE)
    assert config.default_model == ModelPair("custom", "mock-1")
    assert [m.ref.model_id for m in config.models] == [
        "deepseek-v4-flash",
        "deepseek-v4-pro",
        "z-ai/glm-5.2",
        "mock-1",
        "mock-small",
    ]
    mock = config.model("custom", "mock-1")
    assert mock is not None
    assert (mock.context_window, mock.client_type, mock.has_key) == (128_000, "openai-chat", True)
    assert mock.price == ModelPrice(0.1, 1, 4)
    small = config.model("custom", "mock-small")
    assert small is not None
    assert (small.price, small.max_tokens) == (None, 4096)
    assert config.model("deepseek", "mock-1") is None
    assert not config.command_policy.verdict("cd x; rm -rf y").allowed
    assert config.diagnostics == ()


def test_no_key_enters_the_model_and_the_key_comes_hidden() -> None:
    assert "sk-lab" not in repr(read_project(SAMPLE))
    key = credential(SAMPLE, "custom", "mock-1", {})
    assert key is not None
    assert "sk-lab" not in repr(key)
    assert key.get_secret_value() == "sk-lab-not-a-secret"


def test_keys_and_addresses_fall_back_to_the_provider_groups_variables(project: ProjectPaths) -> None:
    project.config.write_text('[[models]]\nprovider = "custom"\nmodel_id = "m"\n')
    variables = {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "http://h", "DEEPSEEK_API_KEY": "k2", "ZAI_API_KEY": ""}
    for provider, expected in (("custom", "k1"), ("openai", "k1"), ("deepseek", "k2"), ("zai", None), ("other", None)):
        key = credential(project, provider, "m", variables)
        assert (key.get_secret_value() if key else None) == expected
    assert endpoint(project, "custom", "m", variables) == "http://h"
    assert endpoint(project, "deepseek", "m", variables) is None
    assert endpoint(SAMPLE, "custom", "mock-1", variables) == "http://127.0.0.1:18431/v1"


def test_the_old_client_name_and_a_password_in_an_address(project: ProjectPaths) -> None:
    project.config.write_text(
        '[[models]]\nprovider = "custom"\nmodel_id = "m"\nclient_type = "openai"\nbase_url = "http://me:pw@h:1/v1/@x"\n'
    )
    (model,) = read_project(project).models
    assert model.client_type == "openai-chat"
    assert model.base_url == "http://h:1/v1/@x"
    assert endpoint(project, "custom", "m", {}) == "http://me:pw@h:1/v1/@x"


@pytest.mark.parametrize(
    "text",
    [
        '[[models]]\nprovider = "p"\n',
        '[[models]]\nprovider = "p"\nmodel_id = "m"\n[models.pricing]\noutput = 1\n',
        '[[models]]\nprovider = "p"\nmodel_id = "m"\n[models.pricing]\ncache_read = 1\ncache_write = 1\noutput = -1\n',
        '[[models]]\nprovider = "p"\nmodel_id = "m"\n[models.pricing]\nunit = "eur"\ncache_read = 1\n',
        'default_model = { provider = "p" }\n',
        '[[command_policy.rules]]\nname = "n"\npattern = "a++"\n',
        '[[command_policy.rules]]\nname = "n"\n',
    ],
)
def test_half_entries_are_told(project: ProjectPaths, text: str) -> None:
    project.config.write_text(text)
    config = read_project(project)
    assert len(config.diagnostics) == 1
    assert config.default_model is None
    assert all(model.price is None for model in config.models)


def test_a_project_without_a_file_is_empty_and_an_absent_one_is_not_found(project: ProjectPaths) -> None:
    config = read_project(project)
    assert (config.models, config.default_model) == ((), None)
    assert list(project.root.iterdir()) == []
    with pytest.raises(NotFoundError):
        read_project(HomePaths(project.root.parent).project("none"))


def test_a_broken_file_stops_everything_and_shows_no_key(project: ProjectPaths) -> None:
    project.config.write_text('[[models]]\napi_key = "sk-secret\nname = 1\n')
    with pytest.raises(DamagedError) as refused:
        read_project(project)
    assert "line 2" in str(refused.value)
    assert "sk-secret" not in "".join(traceback.format_exception(refused.value, chain=False))
    with pytest.raises(DamagedError):
        credential(project, "p", "m", {})
