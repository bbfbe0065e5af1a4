"""The form that starts a training run: its fields, the settings that they make, and what is wrong with them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.curation.training_presets import Preset
from core.foundation import strict_json
from tui.stores.forms import Field

Values = Mapping[str, str]
PRESET, SEED, SETTINGS = "preset", "seed", "settings"
_OWN = {"steps": "steps", "executor": "executor.name", "min_overlap": "retrieval.min_overlap"}
"""Fields of their own for these keys, where the preset has them; any other key is typed as key=value."""
_SAYS = {
    "steps": "How many steps of GRPO. Fewer are sooner done and learn less.",
    "executor": "Whose attempts the curator learns from: the world's weak, mid or strong one.",
    "min_overlap": "A skill is retrieved only where this share of its title's words is in the task; 0 takes any.",
}
_LABELS = {"steps": "Steps", "executor": "Executor", "min_overlap": "Gate"}


def fields_of(values: Values, presets: Sequence[Preset]) -> tuple[Field, ...]:
    """Return the fields for the preset that is chosen."""
    preset = preset_of(values, presets)
    says = f"{preset.says} Needs {preset.needs}.".replace(" Needs .", "") if preset else "None is known."
    fields = [
        Field(PRESET, "Preset", says, tuple(one.name for one in presets), typed=False),
        Field(SEED, "Seed", "Another seed is another run; the same seed gives the same one.", unset=_of(preset, SEED)),
    ]
    fields += [Field(name, _LABELS[name], _SAYS[name], unset=_of(preset, _OWN[name])) for name in own_keys(preset)]
    keys = tuple(f"{key}=" for key in sorted(preset.settings)) if preset else ()
    return (
        *fields,
        Field(
            SETTINGS,
            "Other keys",
            "Other values for keys of the preset, as key=value, several with spaces between; exuvia train presets "
            "lists them.",
            keys,
            unset="as the preset has them",
        ),
    )


def preset_of(values: Values, presets: Sequence[Preset]) -> Preset | None:
    """Return the preset that is chosen, else the first."""
    return next((one for one in presets if one.name == values.get(PRESET)), presets[0] if presets else None)


def own_keys(preset: Preset | None) -> tuple[str, ...]:
    """Return the names that have a field of their own and a key in the preset."""
    return tuple(name for name, key in _OWN.items() if preset is not None and key in preset.settings)


def _of(preset: Preset | None, key: str) -> str:
    value = preset.settings.get(key) if preset is not None else None
    return "" if value is None else str(value)


def settings_of(values: Values, presets: Sequence[Preset]) -> tuple[int | None, dict[str, Any]]:
    """Return the seed (None: the preset's own) and the settings that differ. Raises ValueError where it can't."""
    preset = preset_of(values, presets)
    seed = values.get(SEED, "").strip()
    found: dict[str, Any] = {}
    for name in own_keys(preset):
        if value := values.get(name, "").strip():
            found[_OWN[name]] = _value(value)
    for pair in values.get(SETTINGS, "").split():
        key, sign, value = pair.partition("=")
        if not sign or not key or not value:
            raise ValueError(f"{pair}: write key=value")
        if preset is not None and key not in preset.settings:
            raise ValueError(f"{key}: the preset has no such key")
        found[key] = _value(value)
    return (int(seed) if seed else None), found


def resolved(values: Values, presets: Sequence[Preset]) -> dict[str, Any]:
    """Return every key of the preset with the value that the form gives it, what was typed first.

    A field that is wrong is left out of it: its key has the preset's value.
    """
    preset = preset_of(values, presets)
    if preset is None:
        return {}
    wrong = faults_of(values, presets)
    seed, typed = settings_of({name: value for name, value in values.items() if name not in wrong}, presets)
    given = {SEED: seed} if seed is not None else {}
    return {**given, **typed} | {key: value for key, value in preset.settings.items() if key not in {**given, **typed}}


def in_words(values: Values, presets: Sequence[Preset]) -> str:
    """Return what will be trained in a few words: the preset, its seed and steps, and what was set otherwise."""
    seed, typed = settings_of(values, presets)
    keys = resolved(values, presets)
    parts = [str(values.get(PRESET, "")), f"seed {keys.get(SEED, seed)}", f"{keys.get('steps', '?')} steps"]
    return ", ".join([*parts, *(f"{key} {value}" for key, value in typed.items() if key != "steps")])


def _value(text: str) -> Any:
    """Return what a value means: JSON where it is that, else the text."""
    try:
        return strict_json.parse(text)
    except ValueError:
        return text


def faults_of(values: Values, presets: Sequence[Preset]) -> dict[str, str]:
    """Return what is wrong with each field, by its name; "" stands for the form as a whole."""
    faults: dict[str, str] = {}
    if not presets:
        faults[""] = "The trainer tells of no preset."
    seed = values.get(SEED, "").strip()
    if seed and not (seed.isascii() and seed.isdigit()):
        faults[SEED] = "a whole number"
    preset = preset_of(values, presets)
    for name in own_keys(preset):
        value, usual = values.get(name, "").strip(), preset.settings[_OWN[name]] if preset else None
        if value and (fault := _fault(_value(value), usual)):
            faults[name] = fault
        elif value and name == "steps" and _value(value) < 1:
            faults[name] = "1 or more"
    try:
        _, typed = settings_of({SETTINGS: values.get(SETTINGS, ""), PRESET: values.get(PRESET, "")}, presets)
        wrong = ((key, _fault(value, preset.settings.get(key) if preset else None)) for key, value in typed.items())
        told = next((f"{key}: {fault}" for key, fault in wrong if fault), "")
        faults |= {SETTINGS: told} if told else {}
    except ValueError as error:
        faults[SETTINGS] = str(error)
    return faults


def _fault(given: Any, usual: Any) -> str:
    """Return what a value should be instead, by the kind of the preset's own; "" where it may be right."""
    if isinstance(usual, bool):
        return "" if isinstance(given, bool) else "true or false"
    if not isinstance(usual, int | float):
        return ""
    whole = isinstance(usual, int)
    if isinstance(given, bool) or not isinstance(given, int if whole else int | float):
        return "a whole number" if whole else "a number"
    return "0 or more" if given < 0 and usual >= 0 else ""


def filled(values: Values, presets: Sequence[Preset]) -> dict[str, str]:
    """Return values whose preset is one that there is."""
    preset = preset_of(values, presets)
    return {**values, PRESET: preset.name if preset else ""}
