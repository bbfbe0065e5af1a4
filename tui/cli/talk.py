"""`exuvia send` and `exuvia chat`: a word into a session that runs, and a session of one's own with an agent."""

from __future__ import annotations

import sys

import click

from tui.cli.common import Place, json_option, place_options, print_json, say


@click.command(epilog="Example:  exuvia send build-20260101-120000-ab12 'Leave out the Case about dates.'")
@click.argument("session_or_run", metavar="SESSION_OR_RUN")
@click.argument("text")
@json_option
@place_options
def send(session_or_run: str, text: str, as_json: bool, place: Place) -> None:
    """Send TEXT ('-' reads standard input) to a Builder, an Optimizer or a chat that runs.

    A run's id stands for its Builder or Optimizer. The session reads it before its next request to the model.
    """
    from core.state import mailbox

    said = sys.stdin.read() if text == "-" else text
    word = mailbox.send(place.project, session_or_run, said, actor="cli")
    if as_json:
        print_json({"word": word.model_dump(mode="json")})
        return
    role = (mailbox.address(place.project, word.session_id) or word).model_dump().get("role") or "session"
    say(f"Sent to the {role} of {word.run_id or word.session_id}; it reads it before its next request.")
    say(f"What comes of it: exuvia trace show {word.session_id}")
