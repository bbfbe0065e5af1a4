"""A home with the shop's bank of strategies, made by core's own functions: published, moved, released, rolled back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from core.state.fresh import ensure_home
from core.state.paths import ProjectPaths
from core.strategy.bank.bank import Bank, bank_of
from core.strategy.bank.states import Actor, Step
from core.strategy.shop import banks, toolbox

ADA = Actor("ada", person=True)
NIGHTLY = Actor("nightly", person=False)
REPLAYED = banks.REPLAYED
RELEASE = """schema: release/v1
id: aftersale.paid_no_parcel
version: {version}
rollout:
  stages:
    - {{percent: 1, business_line: [aftersale], device: [ios], hold_hours: 24}}
    - {{percent: 10, business_line: [aftersale], device: [ios, android], hold_hours: 48}}
    - {{percent: 100, hold_hours: 24}}
  shadow: {{compare_to: 3, by: [age_band, device]}}
  ab: {{against: 3, split: 50}}
  rollback_when: [{{metric: fallback_rate, rel_increase: 0.2, hours: 24, min_samples: 20, segment: any}}]
track: {{business_impact: {{metric: resolved_without_human, alert: {{below: 0.5, hours: 3}}}}}}
compat:
  models:
    gpt-4: {{status: adapted, tested: "2026-05-20", settings: {{intent.confidence: 0.72}}}}
    gpt-3.5: {{status: incompatible, tested: "2026-05-20"}}
"""


def shop_home(root: Path) -> ProjectPaths:
    """Make a home whose agent has the shop's skills and whose bank holds the shop's strategies, none published."""
    project = ensure_home(root)
    give_skills(project)
    bank = bank_of(project)
    files = {**banks.bank_files(), "bank.yaml": banks.bank_text()}
    for name, text in files.items():
        write(bank, name, text)
    return project


def give_skills(project: ProjectPaths) -> None:
    """Give the first agent the schemas of the shop's skills."""
    skills = project.agent(project.agent_ids()[0]).skills
    for name, text in toolbox.schema_texts().items():
        path = skills / name / "skill.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write(bank: Bank, name: str, text: str) -> Path:
    path = bank.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def released_home(root: Path) -> ProjectPaths:
    """Make a home whose bank has a history: four versions of one strategy, the newest in gray, others in all states."""
    project = shop_home(root)
    bank = bank_of(project)
    history(bank)
    others = [one for one in bank.files() if one != REPLAYED]
    for name in others[:-4]:
        bank.publish(name, ADA, "taken over")
        to_active(bank, name, 1)
    in_review, in_shadow, drafted = others[-4], others[-3], others[-2]
    for name in (in_review, in_shadow, drafted):
        bank.publish(name, ADA, "new")
    move(bank, in_review, 1, "review", 0)
    move(bank, in_shadow, 1, "review", 0)
    move(bank, in_shadow, 1, "shadow", 1)
    return project


def busy_home(root: Path) -> ProjectPaths:
    """Make the released home with half a week of traffic: the newest version is at its last stage, half of the users
    see it in an A/B test, the other half the one before, beside which it runs in shadow.
    """
    from tests.tui.strategies_traffic import days_ago, serve

    project = released_home(root)
    bank = bank_of(project)
    for stage, day in ((1, 5), (2, 6)):
        bank.move(REPLAYED, 4, Step("gray", ADA, f"2026-05-{day:02}T05:00:00Z", "it is the shop's", stage, force=True))
    for seed in range(3):
        serve(project, seed, days_ago(3.5 - seed))
    return project


def history(bank: Bank) -> None:
    """Publish the four versions of the replayed strategy: three were active one after the other, four is in gray."""
    for version, text in banks.versions().items():
        write(bank, f"aftersale/{REPLAYED}.yaml", text)
        write(bank, f"aftersale/{REPLAYED}.release.yaml", RELEASE.format(version=version))
        bank.publish(REPLAYED, ADA, f"version {version} of the account")
        if version < 4:
            to_active(bank, REPLAYED, version, day=version)
        else:
            to_gray(bank, REPLAYED, version, day=version)


def to_gray(bank: Bank, name: str, version: int, *, day: int = 1) -> None:
    move(bank, name, version, "review", 0, day=day)
    move(bank, name, version, "shadow", 1, day=day)
    move(bank, name, version, "gray", 2, day=day, stage=0)


def to_active(bank: Bank, name: str, version: int, *, day: int = 1) -> None:
    to_gray(bank, name, version, day=day)
    step = Step("active", ADA, f"2026-05-{day:02}T03:00:00Z", "known from before", force=True)
    bank.move(name, version, step)


def move(bank: Bank, name: str, version: int, to: str, hour: int, *, day: int = 1, stage: int = -1) -> None:
    rests_on = ("check-2026-05-01",) if to == "shadow" else ()
    step = Step(to, ADA, f"2026-05-{day:02}T{hour:02}:00:00Z", "looked through", stage, rests_on)  # type: ignore[arg-type]  # a state
    bank.move(name, version, step)


def break_lines(bank: Bank, name: str, pairs: Iterable[tuple[str, str]]) -> Path:
    """Change a strategy's text on disk, as an editor does."""
    path = bank.files()[name]
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    return path
