"""`metaclaw setup`: asks, shows what it will write, tries the model, and writes only after a yes."""

from __future__ import annotations

import os
import secrets as random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import typer

from metaclaw.cli.answers import Answers, Changes, changes, diff, new_text
from metaclaw.cli.output import JsonFlag, fail, note, read_secret, say, show
from metaclaw.config import ConfigFile, Loaded, Secrets, Settings, home, load, make_home
from metaclaw.supervisor.checks import Check


class Auth(StrEnum):
    """Ways to pay for model calls."""

    api_key = "api_key"
    oauth_token = "oauth_token"  # noqa: S105 (a name, not a token)
    passthrough = "passthrough"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything setup is about to do."""

    path: Path
    before: str
    after: str
    changes: Changes
    loaded: Loaded  # the configuration as it will count
    agents: dict[str, tuple[str, ...]]  # what `metaclaw start` will change in each agent's files

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return self.before == self.after and not self.changes.secrets and not self.changes.forgotten


def setup(
    claw: list[str] | None = typer.Option(
        None, "--claw", metavar="NAME", help="Agent to connect; repeat it for several."
    ),
    auth: Auth | None = typer.Option(None, "--auth", help="API key, subscription, or the client's own credentials."),
    provider: str | None = typer.Option(None, "--provider", metavar="NAME", help="Who answers model calls."),
    model: str | None = typer.Option(None, "--model", metavar="ID", help="Model; '' keeps what the agent asks for."),
    api_base: str | None = typer.Option(None, "--api-base", metavar="URL", help="Address of the provider."),
    protocol: str | None = typer.Option(None, "--protocol", help="auto, chat, messages or responses."),
    key_stdin: bool = typer.Option(False, "--api-key-stdin", help="Read the API key from stdin."),
    token_stdin: bool = typer.Option(False, "--token-stdin", help="Read the subscription token from stdin."),
    mode: str | None = typer.Option(None, "--mode", help="auto, rl or skills_only."),
    port: int | None = typer.Option(None, "--port", min=1, max=65535, help="Port of the gateway."),
    memory: bool | None = typer.Option(None, "--memory/--no-memory", help="Long-term memory.", show_default=False),
    rl: bool | None = typer.Option(None, "--rl/--no-rl", help="Training.", show_default=False),
    rl_backend: str | None = typer.Option(None, "--rl-backend", help="auto, tinker, mint, weaver or local."),
    rl_model: str | None = typer.Option(None, "--rl-model", metavar="ID", help="Base model that is trained."),
    test: bool = typer.Option(True, "--test/--no-test", help="Try the model with one small call."),
    yes: bool = typer.Option(
        False, "-y", "--yes", "--non-interactive", help="Ask nothing; write what the options say."
    ),
    config: Path | None = typer.Option(None, "-c", "--config", metavar="FILE", help="Configuration file."),
    json: bool = JsonFlag,
) -> None:
    """Choose agent, provider and model; connect them. Run again, it changes only what is answered anew."""
    secret = read_secret("The key or token") if key_stdin or token_stdin else ""
    given = Answers(
        claws=_claw_names(claw),
        auth=auth and auth.value,
        provider=_known_provider(provider),
        model=model,
        api_base=api_base,
        protocol=protocol,
        key=secret if key_stdin else "",
        token=secret if token_stdin else "",
        mode=mode,
        port=port,
        memory=memory,
        rl=rl,
        rl_backend=rl_backend,
        rl_model=rl_model,
    )
    asking = sys.stdin.isatty() and not yes and not json
    if not asking and not given.given() and not yes:
        fail("there is no terminal to ask in: answer with options (see `metaclaw setup --help`), or give --yes", code=2)
    path = config.expanduser().absolute() if config else home() / "config.yaml"
    _run(given, path, asking=asking, test=test, json=json)


def _run(given: Answers, path: Path, *, asking: bool, test: bool, json: bool) -> None:
    make_home()
    now = load(path)
    answers = _ask(given, now, path) if asking else given
    plan = make_plan(answers, now, path)
    tried = _try(plan.loaded.settings) if test else None
    if not json:
        _present(plan, tried)
    if plan.empty:
        _finish(plan, tried, [], json=json, asking=False)
        return
    if asking:
        from metaclaw.cli.questions import confirm

        if not confirm("Write this?", default=tried is None or tried.state != "failed"):
            fail("nothing was written")
    _finish(plan, tried, write(plan), json=json, asking=asking)


def make_plan(answers: Answers, now: Loaded, path: Path) -> Plan:
    """What the answers come to. Reads files, writes none. Raises ConfigError."""
    plan = _without_agents(answers, now, path)
    return replace(plan, agents=_agents(plan.loaded.settings))


def _without_agents(answers: Answers, now: Loaded, path: Path) -> Plan:
    from metaclaw.config.document import parse_document
    from metaclaw.config.loader import resolve

    # Later runs make none: clients that talk without a key would be shut out.
    chosen = any(origin == "file" for key, origin in now.origins.items() if key.startswith("llm."))
    new_key = "" if chosen else f"mc-{random.token_urlsafe(24)}"
    planned = changes(answers, now.settings, stored=Secrets().names(), new_key=new_key)
    before, after = new_text(path, planned)
    environ = {**os.environ, **_as_environment(answers, planned)}
    return Plan(path, before, after, planned, resolve(parse_document(after, str(path)), path, environ), {})


def write(plan: Plan) -> list[str]:
    """Write the plan: secrets first, so that the configuration never names a key that is not there yet."""
    done = []
    store = Secrets()
    for name, value in plan.changes.secrets.items():
        done.append(f"{name} is kept in the {store.set(name, value)}")
    for name in plan.changes.forgotten:
        store.delete(name)
        done.append(f"{name} is forgotten")
    if ConfigFile(plan.path).replace(plan.after):
        done.append(f"{plan.path} is written" + (" (the old one is beside it, .bak)" if plan.before else ""))
    return done


def _as_environment(answers: Answers, planned: Changes) -> dict[str, str]:
    """Secrets that are not stored yet, for the eyes of the configuration alone."""
    given = {
        "METACLAW_LLM_API_KEY": answers.key,
        "METACLAW_LLM_OAUTH_TOKEN": answers.token,
        "METACLAW_PROXY_API_KEY": planned.secrets.get("proxy.api_key", ""),
    }
    return {name: value for name, value in given.items() if value}


def _agents(settings: Settings) -> dict[str, tuple[str, ...]]:
    from metaclaw.cli.connect import preview

    return preview(settings, home()) if settings.configure_claws else {}


def _ask(given: Answers, now: Loaded, path: Path) -> Answers:
    from metaclaw.cli.connect import found_agents
    from metaclaw.cli.questions import ask_all

    def list_models(answers: Answers) -> Sequence[str]:
        from metaclaw.cli.model_call import live_models

        return live_models(_without_agents(answers, now, path).loaded.settings)

    has_key = bool(now.settings.llm.api_key.get_secret_value())
    return ask_all(given, now.settings, found_agents(), has_key=has_key, list_models=list_models)


def _try(settings: Settings) -> Check | None:
    from metaclaw.providers import missing

    if settings.llm.auth_method == "passthrough" or missing(settings.llm) or not settings.llm.model_id:
        return None  # without a model of its own there is nothing to ask by name
    from metaclaw.cli.model_call import try_model

    note("trying the model …")
    return try_model(settings)


def _present(plan: Plan, tried: Check | None) -> None:
    for line in diff(plan.path, plan.before, plan.after):
        say(line)
    for name in plan.changes.secrets:
        say(f"secret {name}: set")
    for name in plan.changes.forgotten:
        say(f"secret {name}: forgotten, since it belonged to what was set before")
    for name, lines in plan.agents.items():
        say(f"`metaclaw start` will change in {name}:")
        for line in lines:
            say(f"  {line}")
    if tried is not None:
        say(f"{'The model answers' if tried.state == 'ok' else 'The model does not answer'}: {tried.detail}")


def _finish(plan: Plan, tried: Check | None, done: list[str], *, json: bool, asking: bool) -> None:
    from metaclaw.supervisor import Running, observe
    from metaclaw.supervisor.gateway import any_gateway

    runs = isinstance(observe(any_gateway(home())), Running)
    if json:
        show({"config": str(plan.path), "written": done, "model": tried, "agents": plan.agents}, as_json=True)
        return
    say("\n".join(done) if done else "Nothing to change.")
    if asking:
        _offer(runs)
    else:
        say("`metaclaw restart` applies it." if runs and done else "" if runs else "`metaclaw start` starts it.")


def _offer(runs: bool) -> None:
    from metaclaw.cli.lifecycle import restart_now, start_now
    from metaclaw.cli.questions import confirm

    if confirm("Restart MetaClaw now?" if runs else "Start MetaClaw now? It also makes the changes to the agents."):
        restart_now() if runs else start_now()


def _claw_names(names: list[str] | None) -> tuple[str, ...] | None:
    if not names:
        return None
    from metaclaw_adapters import adapters

    known = [*adapters(), "none"]
    for name in names:
        if name not in known:
            fail(f"--claw {name}: no such agent; known: {', '.join(known)}", code=2)
    return tuple(name for name in dict.fromkeys(names) if name != "none")


def _known_provider(name: str | None) -> str | None:
    from metaclaw.providers import PROVIDERS

    if name is not None and name not in PROVIDERS:
        fail(f"--provider {name}: no such provider; known: {', '.join(PROVIDERS)}", code=2)
    return name
