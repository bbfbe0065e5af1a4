"""Skills for the default generators, written by hand: what someone who knows the problems would tell a solver."""

from __future__ import annotations

from functools import cache

from core.skillrepo.skill import Skill, write

_SKILLS = (
    (
        "Sum or difference of many numbers",
        "State the final answer of a chain of additions and subtractions of integers.",
        (
            "Go from left to right and write the running total after every term.\n"
            "Turn the subtraction of a negative number into an addition first.\n"
            "Check the last digit of the total by adding the last digits alone."
        ),
    ),
    (
        "Greatest common divisor",
        "Find the greatest common divisor (GCD) of two or more numbers.",
        (
            "Divide the larger number by the smaller one and keep the remainder; repeat until the remainder is zero.\n"
            "With more than two numbers, take the result together with the next number.\n"
            "Check that the result divides every number."
        ),
    ),
    (
        "Simplify a fraction",
        "Simplify a fraction to its lowest terms, in the notation that the problem uses.",
        (
            "Find the greatest common divisor of numerator and denominator by repeated division.\n"
            "Divide both by it.\nGive the fraction in the same notation as in the problem."
        ),
    ),
    (
        "Convert a number between bases",
        "Convert a number from one base to another base.",
        (
            "Write the number in base ten first: multiply by the base and add the next digit, from left to right.\n"
            "Divide by the new base again and again and read the remainders from the last to the first.\n"
            "Use letters in lower case for digits above nine, unless the problem says otherwise."
        ),
    ),
    (
        "Solve a linear equation",
        "Determine the value of the variable that solves an equation.",
        (
            "Bring every term with the variable to one side and everything else to the other.\n"
            "Divide by the coefficient of the variable.\nPut the value into the equation to check it."
        ),
    ),
    (
        "Next term of a sequence",
        "Find the next number of a sequence.",
        (
            "Write the differences of neighbours, and the quotients where the terms grow fast.\n"
            "If neither is constant, look for a rule that uses the two terms before, or two rules in turn.\n"
            "Check the rule on every term that is given before you use it."
        ),
    ),
    (
        "Calendar arithmetic",
        "Count days, weekdays or business days between dates, or find a weekday or a leap year.",
        (
            "Count the days month by month, with the length of February checked for the year.\n"
            "Take weekdays modulo seven from a day that is given.\nSay whether the first and the last day count."
        ),
    ),
    (
        "Time intervals",
        "Find the time difference between two times or dates, in the format that is asked for.",
        (
            "Bring both times to the same time zone.\nSubtract from the smallest unit up, and borrow where needed.\n"
            "Write the result in exactly the format that is asked for."
        ),
    ),
    (
        "Count the legs",
        "Count how many legs there are in total among animals.",
        (
            "Write down how many legs each kind has: insects six, spiders and their kin eight, birds two, fish and "
            "snails none that walk.\nMultiply by how many there are and add up line by line."
        ),
    ),
    (
        "Knights and knaves",
        "Find who is a knight and who is a knave from what they say: one kind always tells the truth, one always lies.",
        (
            "Assume that one person tells the truth and follow what each statement then says.\n"
            "If a contradiction comes up, assume the opposite.\nCheck every statement against the final assignment.\n"
            "Name every person in the order in which the problem does."
        ),
    ),
    (
        "Family relationships",
        "Find how one person of a family is related to another.",
        (
            "Draw the tree from the sentences: who is married to whom, who has which children.\n"
            "Walk from the one person to the other and name each step.\n"
            "Mind the direction of the question and the sex of the person who is named."
        ),
    ),
    (
        "Syllogism",
        "Decide whether a conclusion follows logically from two premises about all, some or no things.",
        (
            "Draw the sets and try to make the conclusion false while the premises stay true.\n"
            "If that can be done, it does not follow.\nA premise with some gives no conclusion with all."
        ),
    ),
)


@cache
def skills() -> tuple[Skill, ...]:
    """Return one skill for each default generator, in their order."""
    return tuple(write(title, about, f"# Workflow\n\n{steps}") for title, about, steps in _SKILLS)
