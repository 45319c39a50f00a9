"""`metaclaw auth`: keys and subscription tokens, by provider."""

from __future__ import annotations

import typer

from metaclaw.cli.config import say_restart
from metaclaw.cli.output import JsonFlag, fail, note, read_secret, say, show
from metaclaw.config import Secrets, load
from metaclaw.config.problems import nearest
from metaclaw.config.schema import keys

SUBSCRIPTIONS = ("anthropic", "openai-codex", "gemini")

app = typer.Typer(no_args_is_help=True, help="Store and remove keys and tokens. They are read from stdin, never shown.")


@app.command("paste-token")
def paste_token(
    provider: str = typer.Option(metavar="NAME", help=f"One of {', '.join(SUBSCRIPTIONS)}."),
) -> None:
    """Store the subscription token of a vendor's own program, from a prompt or stdin."""
    _known(provider, SUBSCRIPTIONS, "sells subscriptions by token")
    where = Secrets().set(f"{provider}:token", read_secret(f"Token for {provider}"))
    say(f"{provider}:token is set (kept in the {where})")
    _hint(provider, "oauth_token", "llm.oauth_token")
    say_restart()


@app.command("paste-key")
def paste_key(provider: str = typer.Option(metavar="NAME", help="The provider, such as `kimi`.")) -> None:
    """Store the API key of a provider, from a prompt or stdin."""
    from metaclaw.providers import PROVIDERS

    _known(provider, tuple(PROVIDERS), "is known")
    secrets = Secrets()
    where = secrets.set(f"{provider}:key", read_secret(f"Key for {provider}"))
    say(f"{provider}:key is set (kept in the {where})")
    if "llm.api_key" in secrets.names() and load(read_secrets=False).settings.llm.provider == provider:
        secrets.delete("llm.api_key")
        note("it takes the place of the stored llm.api_key, which is removed")
    _hint(provider, "api_key", "llm.api_key")
    say_restart()


@app.command()
def status(json: bool = JsonFlag) -> None:
    """List what is stored, where, and what it is used for; never the values."""
    loaded = load(read_secrets=False)
    in_use = {name: key for key, name in loaded.stored.items()}
    rows = [{"id": name, "kept": where, "used": in_use.get(name, "")} for name, where in Secrets().names().items()]
    for key in keys().values():
        origin = loaded.origins[key.name]
        if key.secret and origin in ("environment", "file"):
            kept = loaded.variables.get(key.name, "config.yaml")
            rows.append({"id": key.name, "kept": kept, "used": key.name})
    note("" if json else f"{loaded.settings.llm.provider}, by {loaded.settings.llm.auth_method}")
    show(rows, as_json=json, columns=("id", "kept", "used"), empty="No key or token is stored.")


@app.command()
def remove(id: str = typer.Argument(metavar="ID", help="An id from `auth status`.")) -> None:
    """Forget a stored key or token."""
    secrets = Secrets()
    if secrets.delete(id):
        say(f"{id} is removed")
        say_restart()
        return
    loaded = load(read_secrets=False)
    if id in loaded.variables:
        fail(f"{id} comes from the environment: unset {loaded.variables[id]}")
    if loaded.origins.get(id) == "file":
        fail(f"{id} stands in {loaded.path}: `metaclaw config unset {id}` removes it")
    stored = ", ".join(secrets.names()) or "nothing"
    fail(f"nothing is stored as {id}; stored: {stored}")


def _known(provider: str, names: tuple[str, ...], what: str) -> None:
    if provider not in names:
        hint = nearest(provider, names)
        fail(f"no provider {provider!r} {what}; {f'did you mean {hint}?' if hint else ', '.join(names)}", code=2)


def _hint(provider: str, method: str, key: str) -> None:
    """What is still needed for the new secret to be used."""
    loaded = load(read_secrets=False)
    llm = loaded.settings.llm
    if (llm.provider, llm.auth_method) != (provider, method):
        note(f"to use it: metaclaw config llm.provider {provider}; metaclaw config llm.auth_method {method}")
    elif loaded.stored.get(key) != f"{provider}:{method.partition('_')[2]}":
        note(f"note: {key} from {loaded.variables.get(key, loaded.origins[key])} wins over it")
