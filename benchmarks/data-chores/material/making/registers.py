"""CASE-001 and the held-out CASE-007: registers kept in one CSV by many hands."""
from .common import FIRST, LAST, STANDARD, TOWNS, Item, Revision, tiers
from .table import make

MEMBERS = dict(
    key="member_no", prefix="RC", text="name", extra="email", date="joined", amount="fee", stamp="changed_on",
    source="members.csv", target="register.csv", papers="office",
)
TOOLS = dict(
    key="asset_tag", prefix="TL", text="tool", extra="depot", date="acquired", amount="value", stamp="last_modified",
    source="stock/tools.csv", target="inventory.csv", papers="stock/desk",
    text_values=[f"{size} {thing}" for size in ("Small", "Large", "Heavy", "Cordless", "Bench") for thing in
                 ("drill", "grinder", "saw", "jack", "vice", "hoist", "lathe", "torque wrench", "ladder", "pump")],
    extra_values=TOWNS[:12],
)

MEMBERS_TEXT = """\
# Membership register

The rowing club kept its membership in `members.csv`. Several secretaries typed into it over the years, often more
than once for the same person. The board wants one tidy register before the season opens.

Write `register.csv`, sorted by `member_no`, one row per `member_no`, with these columns in this order:

- `member_no`: the membership number
- `name`: the member's name
- `email`: the address
- `joined`: the day of joining, `YYYY-MM-DD`
- `fee`: the yearly fee with two decimals after a point

In the input `changed_on` is the moment at which an entry was typed.{more}
"""
TOOLS_TEXT = """\
# Tool stock

Three depots share one list of tools, `stock/tools.csv`, and each storekeeper adds to it. For the audit a clean
inventory is needed: `inventory.csv`, one row for each `asset_tag`, ordered by `asset_tag`. Its columns, in this order:

- `asset_tag`: the tag riveted to the tool
- `tool`: what it is
- `depot`: where it is kept
- `acquired`: date of purchase as `YYYY-MM-DD`
- `value`: book value, two decimals after a point

`last_modified` is the time of the entry. Papers from the storekeepers' desk are in `stock/desk/`.
"""
NOTES = """\
Notes on the register

- Phone the treasurer before Friday, the bank wants the list by then.
- Dates with slashes were typed by the old secretary: day first, then the month.
- The imported accounts use a decimal comma, so 12,50 is twelve and a half.
- The blue folder is for paid-up members only.
"""
DESK = """\
# Storekeepers' desk book

Keys to the cage hang behind the door. Whoever writes a date with slashes here writes the day before the month.
Prices copied from invoices carry a decimal comma. Return borrowed ladders on Thursday.
"""


def draft_items(what):
    return [
        Item(8, f"The {what} is a file with the requested columns in order and its entries in it.",
             [("columns", 8, "the result has the requested columns and most entries", "header main")]),
        Item(58, "Entries that were typed once are carried over with their day and amount in the requested form.",
             tiers("plain", "plain", "the ordinary entries", (30, 0.5), (28, 0.95))),
        Item(16, "Days and amounts written in other habits are read as their writers meant them.",
             tiers("habit", "convention", "the entries in other habits", (16, 0.9))),
        Item(14, "A subject entered again appears once, with what was typed last.",
             tiers("again", "variants", "the subjects entered again", (14, 0.9))),
        Item(4, "The result is in order and complete.", [("order", 4, "sorted and nobody missing", "ordered main")]),
    ]


def final_items(what):
    return [
        Item(8, f"The {what} is a file with the requested columns in order and its entries in it.",
             [("columns", 8, "the result has the requested columns and most entries", "header main")]),
        Item(26, "Entries that were typed once are carried over with their day and amount in the requested form.",
             tiers("plain", "plain", "the ordinary entries", (12, 0.5), (14, 0.95))),
        Item(14, "Days and amounts written in other habits are read as their writers meant them.",
             tiers("habit", "convention", "the entries in other habits", (14, 0.9))),
        Item(20, "A subject whose key was spelled in several ways appears once, with what was typed last.",
             tiers("again", "variants", "the subjects entered again", (20, 0.9))),
        Item(10, "Corrections that arrived separately have been applied.",
             tiers("corrected", "corrected", "the corrected entries", (10, 0.9))),
        Item(12, "Entries that the papers leave open are set aside as STANDARD.md says, not guessed.",
             [("aside", 12, "at least 60 % of the open entries are set aside", "exceptions undecided 0.6")]),
        Item(6, "What was settled by telephone is in the result.",
             tiers("calls", "prose", "the entries settled by telephone", (6, 0.9))),
        Item(4, "The result is in order and complete.", [("order", 4, "sorted and nobody missing", "ordered main")]),
    ]


INTRO = ("Points are decided by checks that compare the result with gold.json. They are given by what the entries "
         "are, group by group.")
NOISE = (("locker", ["", "A1", "B7", "C3", "D12", "E9"]), ("shirt", ["S", "M", "L", "XL"]), ("source", ["web", "desk", "mail"]))


def revision(name, base, text, items, what, files=None, standard=None, noise=(), **counts):
    made, gold, rows = make(name, **base, noise=noise, **counts)
    made.update(files or {})
    return Revision(text, made, gold, items(what), INTRO, standard)


def members():
    more = " The folder `office/` holds what the secretaries left behind."
    return [
        revision("members-draft", MEMBERS, MEMBERS_TEXT.format(more=more), draft_items, "register",
                 {"office/notes.txt": NOTES}, STANDARD, plain=300, convention=36, variants=36),
        revision("members-rows", MEMBERS, MEMBERS_TEXT.format(more=more), draft_items, "register",
                 {"office/notes.txt": NOTES, "office/rota.csv": rota()}, STANDARD, NOISE, plain=430, convention=52, variants=52),
        revision("members-final", MEMBERS, MEMBERS_TEXT.format(more=more), final_items, "register",
                 {"office/notes.txt": NOTES, "office/rota.csv": rota()}, STANDARD, NOISE[:2], plain=250, convention=80, variants=100,
                 corrected=60, undecided=45, prose=6),
    ]


def rota():
    lines = ["week,boat,coach"]
    lines += [f"{week},{TOWNS[week % len(TOWNS)]},{FIRST[week % 20]} {LAST[week % 23]}" for week in range(1, 41)]
    return "\n".join(lines) + "\n"


def tools():
    return [revision("tools-final", TOOLS, TOOLS_TEXT, final_items, "inventory", {"stock/desk/desk-book.md": DESK}, STANDARD,
                     (("condition", ["good", "worn", "new"]),), plain=220, convention=70, variants=80, corrected=50,
                     undecided=36, prose=5)]
