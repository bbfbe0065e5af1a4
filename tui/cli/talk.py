"""`exuvia send` and `exuvia chat`: a word into a session that runs, and a session of one's own with an agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.foundation.errors import ExitCode, UsageError
from tui.cli.common import Place, here, json_option, note, place_options, print_json, say
from tui.cli.user_option import user_options

if TYPE_CHECKING:
    from core.strategy.bank.assign import User


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
    listener = mailbox.address(place.project, session_or_run)
    word = mailbox.send(place.project, session_or_run, said, actor="cli")
    if as_json:
        print_json({"word": word.model_dump(mode="json")})
        return
    who = listener.role if listener is not None else "session"
    say(f"Sent to the {who} of {word.run_id or word.session_id}; it reads it before its next request.")
    say(here(f"What comes of it: exuvia trace show {word.session_id}"))


@click.command(epilog="Examples:  exuvia chat data_helper   |   exuvia chat data_helper --once --approval read-only")
@click.argument("agent_id", metavar="AGENT")
@click.option("--once", is_flag=True, help="Take standard input as one message, print the reply and leave.")
@click.option("--resume", metavar="SESSION", help="Go on with an earlier chat, in its workspace.")
@click.option("--model", metavar="PROVIDER/ID", help="A configured model (else the chat's own, or the project's).")
@click.option("--approval", type=click.Choice(["allow-all", "read-only", "always-ask", "deny-all"]), show_default=True,
              default="allow-all", help="Which tool calls may run; always-ask asks you about each.")  # fmt: skip
@click.option("--workspace", type=click.Path(file_okay=False, path_type=Path), help="Where it works (a new one else).")
@click.option("--seed", type=int, default=7, show_default=True, help="Makes replies of the rehearsal model the same.")
@click.option("--allow-unisolated", is_flag=True, help="Run even where the kernel cannot confine. Not safe.")
@user_options
@json_option
@place_options
def chat(
    agent_id: str,
    once: bool,
    resume: str | None,
    model: str | None,
    approval: str,
    workspace: Path | None,
    seed: int,
    allow_unisolated: bool,
    user: User | None,
    as_json: bool,
    place: Place,
) -> int:
    """Talk with AGENT in this terminal. It is confined like a Target; its trace lies with the agent's others.

    Ctrl-C interrupts the agent, Ctrl-D leaves, /help tells more. What a session is asked or told elsewhere (exuvia
    approvals, exuvia send, a console) arrives here too.
    """
    from core.agents.chat import ChatSpec, chat_to_resume
    from core.foundation.clock import new_session_id, short_id
    from core.models.interface import ModelRef
    from core.traces.writer import new_trace_path
    from tui.cli.chat_terminal import ChatTerminal
    from tui.cli.work import chosen_model

    agent = place.agent(agent_id)
    if as_json and not once:
        raise UsageError("--json needs --once.", hint="echo TEXT | exuvia chat AGENT --once --json")
    if resume is not None and workspace is not None:
        raise UsageError("An earlier chat goes on in its own workspace.", hint="Leave out --workspace.")
    head = chat_to_resume(agent, resume) if resume is not None else None
    if head is not None and model is None and head.provider and head.model_id:
        model = f"{head.provider}/{head.model_id}"
    pair, _ = chosen_model(place, model)
    text = sys.stdin.read() if once else ""
    if once and not text.strip():
        raise UsageError("There is no message.", hint="echo 'Do this.' | exuvia chat AGENT --once")
    where = Path(head.workspace) if head is not None else workspace or agent.workspaces / f"tmp-{short_id()}"
    where.mkdir(parents=True, exist_ok=True)
    session_id = head.session_id if head is not None else new_session_id()
    interactive = not once and sys.stdin.isatty()
    spec = ChatSpec(
        project=place.project,
        agent_id=agent_id,
        workspace=where.resolve(),
        model=ModelRef(pair["provider"], pair["model_id"]),
        session_id=session_id,
        trace_path=head.files[-1].path if head is not None else new_trace_path(agent, session_id),
        resume=head is not None,
        approval=approval,  # type: ignore[arg-type]  # click allows no other words
        questions=interactive,
        seed=seed,
        allow_unisolated=allow_unisolated,
        user=user,
    )
    terminal = ChatTerminal(spec, interactive=interactive, quiet=as_json)
    with terminal.running():
        if not once:
            return terminal.converse()
        ended = terminal.once(text)
    if as_json:
        print_json(
            {
                "session_id": session_id,
                "status": ended.status,
                "reason": ended.reason,
                "text": ended.text,
                "workspace": str(where),
                "trace": str(spec.trace_path),
            }
        )
    else:
        note(here(f"Go on: exuvia chat {agent_id} --resume {session_id}"))
    if ended.status == "aborted":
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.DONE if ended.status == "completed" else ExitCode.FAILED)
