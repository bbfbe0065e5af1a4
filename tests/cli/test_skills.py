"""`exuvia skill` over the library, an agent and a curated repository: search, diff, import, export, by position."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.skillrepo import kept
from core.skillrepo.calls import from_native
from core.skillrepo.operations import DELETE, INSERT, UPDATE
from core.skillrepo.skill import write
from core.state import audit
from core.state.paths import ProjectPaths
from tests.cli.program import call, tree_hash

HOT = write("put hot", "Use when a task wants it hot.", "# Workflow\n1. Heat it.")
COLD = write("put cold", "Use when a task wants it cold.", "# Workflow\n1. Cool it.")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A curated repository after four calls: two inserts, a rename, a delete."""
    place = tmp_path / "skills"
    kept.apply(place, [from_native(INSERT, {"skill_name": s.title, "content": s.content}) for s in (HOT, COLD)])
    kept.apply(place, [from_native(UPDATE, {"skill_name": "put hot", "new_name": "put warm"})])
    kept.apply(place, [from_native(DELETE, {"skill_name": "put cold"})])
    return place


def names(*words: str | Path) -> list[str]:
    return [row["name"] for row in call("skill", "list", "--json", *words).document["skills"]]


@pytest.mark.meets("K1")
def test_a_repository_at_any_position(repo: Path) -> None:
    assert names("--repo", repo) == ["put warm"]
    assert [names("--repo", repo, "--at", str(at)) for at in range(5)] == [
        [], ["put hot"], ["put hot", "put cold"], ["put warm", "put cold"], ["put warm"],
    ]  # fmt: skip
    shown = call("skill", "show", "put hot", "--repo", repo, "--at", "1")
    assert shown.out == HOT.content + "\n"
    assert call("skill", "show", "put-warm", "--repo", repo, "--json").document["dialect"] == "curated"
    missing = call("skill", "list", "--repo", repo, "--at", "9")
    assert missing.code == 2
    assert "0 to 4" in missing.err
    assert call("skill", "list", "--at", "1").code == 2
    assert call("skill", "list", "--repo", repo, "--agent", "default_agent").code == 2
    unknown = call("skill", "show", "put hot", "--repo", repo)
    assert unknown.code == 2
    assert "put warm" in unknown.err
    assert "no skill" in unknown.err


@pytest.mark.meets("K3")
def test_search_finds_skills_as_a_stream_retrieves_them(repo: Path) -> None:
    found = call("skill", "search", "the cup must be cold", "--repo", repo, "--at", "2", "--json").document
    assert [hit["name"] for hit in found["hits"]] == ["put cold"]
    assert found["hits"][0]["score"] > 0
    gated = call("skill", "search", "a cold cup", "--repo", repo, "--at", "2", "--min-overlap", "0.51")
    assert gated.out == "No skill shares a word with that.\n"
    told = call("skill", "search", "design a benchmark").out
    assert told.splitlines()[0].split() == ["SCORE", "NAME", "DESCRIPTION"]
    assert "benchmark-design" in told.splitlines()[1]
    assert len(call("skill", "search", "an agent", "--top", "2").out.splitlines()) == 3


def test_diff_of_positions_directories_and_agents(repo: Path, fresh: Path, tmp_path: Path) -> None:
    files = call("skill", "diff", f"{repo}@2", repo, "--json").document["files"]
    assert [(file["path"], file["status"]) for file in files] == [
        ("put-cold/SKILL.md", "removed"), ("put-hot/SKILL.md", "removed"), ("put-warm/SKILL.md", "added"),
    ]  # fmt: skip
    assert call("skill", "diff", f"{repo}@4", repo).out == "No difference.\n"
    patch = call("skill", "diff", f"{repo}@1", f"{repo}@2", "--patch").out
    assert "+1. Cool it." in patch
    home = ("--home", str(fresh))
    assert call("skill", "install", "agent-evaluation", "--agent", "default_agent", *home).code == 0
    against = call("skill", "diff", "library", "default_agent", "--json", *home).document["files"]
    assert "removed" in {file["status"] for file in against}
    assert not any(file["path"].startswith("agent-evaluation/") for file in against)
    since = call("skill", "diff", "default_agent@v1", "default_agent", "--json", *home).document["files"]
    assert [(file["path"], file["status"]) for file in since] == [("agent-evaluation/SKILL.md", "added")]
    for side in (f"{repo}@x", f"{repo}@99", "nobody", str(tmp_path / "nowhere")):
        ended = call("skill", "diff", side, repo, *home)
        assert ended.code == 2, ended


@pytest.mark.meets("K19")
@pytest.mark.parametrize("name", ["out", "out.zip", "out.tar.gz"])
def test_export_and_import_again(repo: Path, tmp_path: Path, name: str) -> None:
    written = call("skill", "export", tmp_path / name, "--repo", repo, "--at", "3", "--json").document
    assert written["skills"] == ["put warm", "put cold"]
    again = call("skill", "export", tmp_path / name, "--repo", repo)
    assert again.code == 1
    assert "exists" in again.err
    taken = call("skill", "import", tmp_path / name, "--repo", tmp_path / "new", "--json").document
    assert sorted(taken["imported"]) == ["put cold", "put warm"]
    twice = call("skill", "import", tmp_path / name, "--repo", tmp_path / "new", "--json").document
    assert (twice["imported"], sorted(twice["kept"])) == ([], ["put cold", "put warm"])
    over = call("skill", "import", tmp_path / name, "--repo", tmp_path / "new", "--replace", "--json").document
    assert sorted(over["imported"]) == ["put cold", "put warm"]
    log = (tmp_path / "new" / "operations.jsonl").read_text().splitlines()
    assert [json.loads(line)["source"] for line in log] == [{"imported_from": name}] * 4


def test_skills_go_into_an_agent_with_all_their_files(project: ProjectPaths, fresh: Path, tmp_path: Path) -> None:
    skill = tmp_path / "in" / "tidy-rows"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy-rows\ndescription: Tidies rows.\n---\n\nRun it.\n")
    (skill / "scripts" / "tidy.py").write_text("print(1)\n")
    home = ("--home", str(fresh))
    call("skill", "export", tmp_path / "library.zip")
    taken = call("skill", "import", tmp_path / "in", "--agent", "default_agent", "--json", *home).document
    assert taken == {"imported": ["tidy-rows"], "kept": [], "notes": []}
    agent = project.agent("default_agent")
    assert (agent.skills / "tidy-rows" / "scripts" / "tidy.py").read_text() == "print(1)\n"
    assert [entry.action for entry in audit.read(project)][-1] == "install_skill"
    undo = call("rollback", "default_agent", "--undo", *home)
    assert "exuvia skill remove NAME --agent default_agent" in undo.err
    again = call("skill", "import", tmp_path / "in", "--agent", "default_agent", "--replace", *home).out
    assert "Take it back: exuvia skill remove tidy-rows --agent default_agent" in again
    assert "rollback default_agent --version N" in again
    out = call("skill", "export", tmp_path / "agent.tgz", "--agent", "default_agent", "--json", *home).document
    assert "tidy-rows" in out["skills"]
    (skill / "SKILL.md").write_text("---\nname: other\ndescription: Tidies rows.\n---\n\nRun it.\n")
    before = tree_hash(project.root)
    refused = call("skill", "import", tmp_path / "in", "--agent", "default_agent", "--replace", *home)
    assert refused.code == 2
    assert "differs from its directory" in refused.err
    assert tree_hash(project.root) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "{out}/missing", "--repo", "{out}/r"], "nothing at"),
        (["import", "{out}"], "Say where"),
        (["import", "{out}", "--repo", "a", "--agent", "b"], "Say where"),
        (["list", "--repo", "{out}/missing"], "no directory"),
        (["export", "{out}/x.rar/y", "--repo", "{out}/missing"], "no directory"),
        (["search", "x", "--repo", "{out}", "--at", "1"], "no operations.jsonl"),
    ],
)
def test_what_can_not_be_done_is_said(tmp_path: Path, words: list[str], said: str) -> None:
    ended = call("skill", *(word.format(out=tmp_path) for word in words))
    assert ended.code == 2
    assert said in ended.err


def test_validate_by_the_rules_of_a_curated_repository(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(HOT.content)
    assert call("skill", "validate", tmp_path, "--curated").code == 0
    assert call("skill", "validate", tmp_path).code == 1
    (tmp_path / "SKILL.md").write_text(HOT.content.replace("---\n\n", "tags: x\n---\n\n"))
    refused = call("skill", "validate", tmp_path, "--curated")
    assert refused.code == 1
    assert "SKILL.md:4:1: error: key 'tags'" in refused.out


def test_a_directory_of_skills_is_validated_whole(tmp_path: Path) -> None:
    for name in ("put-hot", "put-warm"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(HOT.content)
    (tmp_path / "notes").mkdir()
    told = call("skill", "validate", tmp_path, "--curated")
    assert told.code == 0
    assert told.out.count(": valid") == 2
    (tmp_path / "put-warm" / "SKILL.md").write_text("no head")
    document = call("skill", "validate", tmp_path, "--curated", "--json")
    assert document.code == 1
    assert [one["valid"] for one in document.document["skills"]] == [True, False]
    assert "nor a folder with one" in call("skill", "validate", tmp_path / "notes").err


def test_notes_about_a_repository_go_to_stderr(repo: Path) -> None:
    (repo / "put-warm" / "SKILL.md").write_text("no head")
    ended = call("skill", "list", "--repo", repo, "--json")
    assert ended.document == {"skills": []}
    assert "changed by hand" in ended.err
    assert "1:1" in ended.err
