"""How executors read skills: whatever the wording, and never what a text forbids."""

from __future__ import annotations

import time

import pytest

from core.skillrepo.skill import write
from trainer.worlds.household.reading import Reading, named_in, read_skill
from trainer.worlds.household.words import FILLERS, LINES, lexicon, skill_tokens


def reading(body: str, title: str = "Put") -> Reading:
    return read_skill(write(title, "Put an object in a place.", body))


def meanings(body: str, family: str = "pick") -> str:
    return " ".join(meaning.value for meaning in reading(body).told[family].meanings)


WORDINGS = (
    ("Search every receptacle once.", "SEARCH"),
    ("Check all surfaces, then the containers, one at a time.", "SEARCH"),
    ("Go through the receptacles systematically.", "SEARCH"),
    ("Systematically explore the room; don't revisit places.", "SEARCH"),
    ("Visit unvisited receptacles until the object is found.", "SEARCH"),
    ("Look inside each cabinet and drawer in turn.", "SEARCH"),
    ("Keep a list of checked locations and only inspect those not yet visited.", "SEARCH"),
    ("Scan every location before giving up.", "SEARCH"),
    ("Open closed containers.", "OPEN"),
    ("If a receptacle is closed, open it before moving on.", "OPEN"),
    ("Always open a closed drawer or cabinet to see what is inside.", "OPEN"),
    ("Closed containers must be opened.", "OPEN"),
    ("Whenever you meet a closed door, open it.", "OPEN"),
    ("Don't forget to open closed cabinets.", "OPEN"),
    ("Take the object.", "TAKE"),
    ("Pick it up as soon as you see it.", "TAKE"),
    ("Pick up the target item.", "TAKE"),
    ("Grab the object once it is in sight.", "TAKE"),
    ("Retrieve the requested item.", "TAKE"),
    ("Collect the item with the take command.", "TAKE"),
    ("Clean it with the sinkbasin.", "CLEAN"),
    ("Go to the sink and wash the object.", "CLEAN"),
    ("Rinse it at the sinkbasin.", "CLEAN"),
    ("Carry it to the sinkbasin to clean it.", "CLEAN"),
    ("Use the sinkbasin on the object.", "CLEAN"),
    ("Remember to wash it before delivery.", "CLEAN"),
    ("Heat it with the microwave.", "HEAT"),
    ("Warm the object up in the microwave.", "HEAT"),
    ("Use the microwave to make it hot.", "HEAT"),
    ("Bring the object to the microwave and heat it there.", "HEAT"),
    ("Microwave it.", "HEAT"),
    ("Cool it with the fridge.", "COOL"),
    ("Chill the object in the fridge.", "COOL"),
    ("Take it to the fridge to cool it down.", "COOL"),
    ("Refrigerate it.", "COOL"),
    ("Turn on the desklamp.", "LAMP"),
    ("Switch the lamp on while you hold the object.", "LAMP"),
    ("Use the desklamp.", "LAMP"),
    ("Examine the object under the light of the desklamp.", "LAMP"),
    ("Walk up to the lamp and switch it on.", "LAMP"),
    ("Go to the destination.", "GOTO"),
    ("Carry the object to the target receptacle.", "GOTO"),
    ("Head to where it belongs.", "GOTO"),
    ("Move to the receptacle named in the task.", "GOTO"),
    ("Put it down.", "PUT"),
    ("Place the object there.", "PUT"),
    ("Drop it off.", "PUT"),
    ("Set it down inside.", "PUT"),
    ("Put it in the destination.", "GOTO PUT"),
    ("Place the object in the target receptacle.", "GOTO PUT"),
    ("Deliver it to the destination.", "GOTO PUT"),
    ("Bring it to the destination and leave it there.", "GOTO PUT"),
    ("Move it to the target location.", "GOTO PUT"),
    ("Repeat for the second object.", "REPEAT"),
    ("Do the same for the other one.", "REPEAT"),
    ("Then fetch the second item and deliver it as well.", "REPEAT PUT"),
    ("Go back for another one.", "REPEAT"),
    ("Verify that it is done.", "VERIFY"),
    ("Double-check the state of the object.", "VERIFY"),
    ("Make sure every condition holds.", "VERIFY"),
    ("Make sure to put it down.", "PUT"),
    ("Take the object, clean it at the sinkbasin, then put it in the destination.", "TAKE CLEAN GOTO PUT"),
    ("Before putting it down, heat it with the microwave.", "HEAT PUT"),
    ("Go to the destination only after you have cooled it with the fridge.", "COOL GOTO"),
    ("Once you have washed it, bring it to the destination.", "CLEAN GOTO"),
    ("Do not heat it.", ""),
    ("Never put it down before cleaning.", ""),
    ("Don't open anything.", ""),
    ("A clean object is not a hot object.", ""),
    ("The task is done when the clean object lies there.", ""),
    ("Search open surfaces first.", ""),
    ("This works in kitchens and bathrooms alike.", ""),
    ("Be careful.", ""),
    ("Nothing happens means that the command was wrong.", ""),
    ("Then give the command again.", ""),
)

AS_MODELS_WRITE = (
    ("`take {object} from {receptacle}`", "TAKE"),
    ("Locate and take the target.", "TAKE"),
    ("Acquire the object first.", "TAKE"),
    ("Obtain the target item.", "TAKE"),
    ("Pick the object up.", "TAKE"),
    ("Once found, take it.", "TAKE"),
    ("Use `clean {object} with {sinkbasin}` to wash it.", "CLEAN"),
    ("Navigate to the sink basin and clean the item.", "CLEAN"),
    ("Use the sink to rinse it off.", "CLEAN"),
    ("Execute `heat <object> with <microwave>`.", "HEAT"),
    ("Use the fridge to cool the object.", "COOL"),
    ("Put it into a refrigerator and let it cool down.", "COOL"),
    ("While holding the object, toggle the desk lamp.", "LAMP"),
    ("Turn the desklamp on.", "LAMP"),
    ("Take the named object, put it in the microwave, heat it with the microwave.", "TAKE HEAT"),
    ("Heat it with the microwave, retrieve it, then place it at the requested destination.", "HEAT TAKE GOTO PUT"),
    ("Navigate to {destination} and `put {object} in/on {destination}`.", "GOTO PUT"),
    ("Transport it to the final location.", "GOTO"),
    ("Finally, put it in/on the target receptacle.", "GOTO PUT"),
    ("Prioritise unexplored locations; keep a list of the others.", "SEARCH"),
    ("Do not re-check empty receptacles.", "SEARCH"),
    ("For each candidate receptacle: go there, open it if closed, observe the contents.", "SEARCH OPEN"),
    ("Explore drawers, cabinets and shelves one after another.", "SEARCH"),
    ("Open containers before concluding that they are empty.", "OPEN"),
    ("Repeat until both objects are placed.", "REPEAT"),
    ("After placing the first one, return for the second.", "REPEAT"),
    ("Ensure the object is heated before placing.", "VERIFY"),
    ("Confirm via the observation that the state changed.", "VERIFY"),
    ("Check likely spots first: counters for food, drawers for small items.", ""),
    ("Don't put it down until it is heated.", ""),
)


@pytest.mark.parametrize(("text", "expected"), [*WORDINGS, *AS_MODELS_WRITE])
def test_a_wording_is_understood(text: str, expected: str) -> None:
    assert meanings(text) == expected


@pytest.mark.parametrize("mark", ["- ", "* ", "1. ", "2) ", "Step 3: ", "- [ ] ", "> "])
def test_list_marks_and_emphasis_say_nothing(mark: str) -> None:
    assert meanings(f"{mark}**Take** the `object`.") == "TAKE"


def test_a_condition_binds_to_its_family() -> None:
    body = "If the task wants it clean, wash it at the sinkbasin.\nTake the object.\nHeat it when it must be hot."
    assert meanings(body, "clean") == "CLEAN TAKE"
    assert meanings(body, "heat") == "TAKE HEAT"
    assert meanings(body, "pick") == "TAKE"
    assert meanings("If you see it, take it.", "look") == "TAKE"


def test_sections_that_warn_are_no_instructions() -> None:
    body = "# Workflow\nTake the object.\n# When NOT to use\nHeat it with the microwave.\n# Then\nPut it down."
    assert meanings(body) == "TAKE PUT"
    body = "# Workflow\nTake the object.\n## Common mistakes\nPutting it down too early.\n### More\nUse the desklamp."
    assert meanings(body) == "TAKE"


def test_a_hostile_text_takes_no_time() -> None:
    began = time.process_time()
    for piece in ("check every ", "every check ", "never return to ", "turn ", "if , ", "a clean ", "closed ", "{x} "):
        reading(piece * 3_000)
    assert time.process_time() - began < 3.0


def test_vague_lines_and_names_are_counted() -> None:
    read = reading("Be careful.\nTake the apple.\nLook on the dresser.\nGo to cabinet 3.\nWash it at the sinkbasin.")
    assert (read.vague, read.objects, read.places) == (1, 2, 1)
    assert reading("Take the object.", title="Put apple").objects == 1
    # The sinkbasin is the tool of a skill that cleans, and a mere place elsewhere.
    assert reading("Go to the sinkbasin.").places == 1


def test_kinds_in_general_name_no_place() -> None:
    assert named_in("Check cabinets, drawers and shelves; open a closed drawer or cabinet.") == ((), ())
    assert named_in("Look in the cabinet and on countertop 2.") == (("countertop",), ("cabinet",))
    assert named_in("Watch out, it is safe to go; there is a potential.") == ((), ())
    assert named_in("two apples and a knife") == (("apple", "knife"), ())


@pytest.mark.parametrize("key", LINES)
def test_each_line_of_the_lexicon_is_its_key(key: str) -> None:
    skill = write("Put clean", "d", f"# Workflow\n1. {LINES[key]}")
    assert skill_tokens(skill) == (("put", "clean"), (key,))
    assert read_skill(skill).vague == read_skill(skill).objects == read_skill(skill).places == 0 or key == "VERIFY"


@pytest.mark.parametrize("key", FILLERS)
def test_each_filler_says_nothing(key: str) -> None:
    skill = write("Put", "d", f"# Workflow\n1. Take the object.\n{FILLERS[key]}")
    assert skill_tokens(skill) == (("put",), ("TAKE", key))
    assert read_skill(skill).vague == 1


def test_things_come_back_as_their_names() -> None:
    words = lexicon()
    for thing in words.things:
        skill = write(f"put {thing}", "d", f"# Workflow\n{words.sentence(thing)}")
        assert skill_tokens(skill) == (("put", thing), (thing,))
        assert read_skill(skill).objects + read_skill(skill).places == 2
