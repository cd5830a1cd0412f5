"""The command line reference, read from the commands themselves."""

from __future__ import annotations

import inspect
from typing import Any

from docs.generate.docstrings import _indent


def reference() -> str:
    """Every command with its usage, text and options."""
    import typer.main

    from tightmargin.experiments.cli.app import COMMANDS, app

    group: Any = typer.main.get_command(app)
    return "\n\n".join(_command(name, group.get_command(None, name)) for name in COMMANDS)


def _command(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    words = ["tightmargin", name, *map(_usage, arguments), *(["[OPTIONS]"] if options else [])]
    parts = [
        f"## {name}",
        f"```\n{' '.join(words)}\n```",
        _text(inspect.cleandoc(command.help or "")),
        _table(arguments, options),
        _text(inspect.cleandoc(command.epilog or "")),
    ]
    return "\n\n".join(part for part in parts if part)


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    name = f"{name} ..." if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _table(arguments: list[Any], options: list[Any]) -> str:
    rows = [(each.metavar or each.name.upper(), each.help or "") for each in arguments]
    rows += [(_flags(each), each.help or "") for each in options]
    if not rows:
        return ""
    shown = "\n".join(f"| `{left}` | {_plain(right)} |" for left, right in rows)
    return f"| | |\n|:---|:---|\n{shown}"


def _flags(option: Any) -> str:
    names = ", ".join(option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(option.secondary_opts)
    if option.is_flag:
        return names
    kind = getattr(option.type_descriptor.annotation, "__name__", "value")
    return f"{names} {option.metavar or kind.upper()}"


def _plain(text: str) -> str:
    """Text in which nothing is markup, on one line of a table."""
    return "".join(rf"\{c}" if c in r"\`*_[]<>|$" else c for c in " ".join(text.split()))


def _text(text: str) -> str:
    """Help text: a paragraph with indentation of its own is shown as it stands."""
    shown = []
    for block in text.replace("\b\n", "").split("\n\n"):
        lines = block.split("\n")
        if any(_indent(line) for line in lines) or "\b" in block:
            shown.append(f"```\n{block}\n```")
        elif block.strip():
            shown.append(_plain(block))
    return "\n\n".join(shown)
