"""The table of commands: what `--help` shows, and where each one lives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `target` is `module:name`; the name is a function, or a typer app for a group of commands."""

    name: str
    target: str
    help: str
    panel: str


_RUN, _SETTINGS, _LEARNED, _CARE = "Run", "Settings", "What was said and learned", "Care"

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("setup", "metaclaw.cli.setup:setup", "Choose agent, provider and model; connect them.", _RUN),
        Command("start", "metaclaw.cli.lifecycle:start", "Start in the background; returns when it is ready.", _RUN),
        Command("stop", "metaclaw.cli.lifecycle:stop", "Finish running requests, then stop.", _RUN),
        Command("restart", "metaclaw.cli.lifecycle:restart", "Stop, then start.", _RUN),
        Command("status", "metaclaw.cli.lifecycle:status", "What runs, what is on, what is off and why.", _RUN),
        Command("logs", "metaclaw.cli.lifecycle:logs", "Show the log.", _RUN),
        Command("config", "metaclaw.cli.config:app", "Show and change settings.", _SETTINGS),
        Command("auth", "metaclaw.cli.auth:app", "Store and remove keys and tokens.", _SETTINGS),
        Command("claws", "metaclaw.cli.claws:app", "Connect agents, check and disconnect them.", _SETTINGS),
        Command("sessions", "metaclaw.cli.sessions:app", "Read conversations; end one.", _LEARNED),
        Command("skills", "metaclaw.cli.skills:app", "List, edit, search and revert skills.", _LEARNED),
        Command("memory", "metaclaw.cli.memory:app", "Search, read, change and forget memories.", _LEARNED),
        Command("doctor", "metaclaw.cli.doctor:doctor", "Check everything; say what to do.", _CARE),
        Command("uninstall", "metaclaw.cli.uninstall:uninstall", "Undo every change and remove MetaClaw.", _CARE),
        Command("version", "metaclaw.cli.version:version", "Show the version.", _CARE),
    )
}
