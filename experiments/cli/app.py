"""The command line: tightmargin COMMAND.

Standard output carries only results; errors are one line on standard error. Exit codes: 0 optimum,
1 error or not certified, 2 usage or refused input, 3 infeasible or unbounded, 4 limit reached with
an incumbent, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from tightmargin.experiments.cli.catalogue import list_command, show_command, solvers_command
from tightmargin.experiments.cli.certify import certify_command
from tightmargin.experiments.cli.compare import compare_command
from tightmargin.experiments.cli.cross_validate import cross_validate_command
from tightmargin.experiments.cli.export import export_command
from tightmargin.experiments.cli.path import path_command
from tightmargin.experiments.cli.predict import predict_command
from tightmargin.experiments.cli.reproduce import reproduce_command
from tightmargin.experiments.cli.solve import solve_command
from tightmargin.experiments.console.streams import complain
from tightmargin.experiments.data import specs
from tightmargin.solvers.errors import RefusedError

# What a user can cause with what was typed or with the data it names.
REFUSED = (ValueError, TypeError, RefusedError, FileNotFoundError, ConnectionError)

_KEY_VALUE = re.compile(r"[A-Za-z_]\w*=")


class Commands(TyperGroup):
    """The commands, with our exit codes and one-line errors.

    The environment variable TIGHTMARGIN_TRACEBACK, set to anything, shows where an error arose.
    """

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run one command and leave with its exit code."""
        extra["standalone_mode"] = False
        words = spread_settings(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, *rest, **extra)
        except TyperException as error:
            code = _failed(error, 2)
        except REFUSED as error:
            code = _failed(error, 2)
        except (OSError, RuntimeError) as error:
            code = _failed(error, 1)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command named by the arguments."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("tightmargin: interrupted")
            return 130


def _failed(error: Exception, code: int) -> int:
    if os.environ.get("TIGHTMARGIN_TRACEBACK"):
        traceback.print_exception(error)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    complain(f"tightmargin: {text}")
    return code


def spread_settings(args: Sequence[str]) -> list[str]:
    """Repeat --set before each further key=value: `--set C=1 intercept=free` sets both."""
    words: list[str] = []
    follows = False
    for word in args:
        if follows and _KEY_VALUE.match(word):
            words += ["--set", word]
            continue
        follows = word.startswith("--set=") or (bool(words) and words[-1] == "--set")
        words.append(word)
    return words


def _grammar() -> str:
    """How data is named, from the one place where it is written down."""
    lines = (specs.__doc__ or "").strip().split("\n\n")[1:]
    # A backspace keeps the line breaks of a paragraph.
    return "\n\n".join("\b\n" + paragraph for paragraph in lines)


def _version(wanted: bool) -> None:
    if wanted:
        import tightmargin

        print(f"tightmargin {tightmargin.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="tightmargin",
    help="Support vector machines as optimization models, with certified relaxation gaps.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> int:
    """Support vector machines as optimization models, with certified relaxation gaps."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), file=sys.stderr)
        return 2
    return 0


app.command("list")(list_command)
app.command("show")(show_command)
app.command("solvers")(solvers_command)
app.command("solve", epilog=_grammar())(solve_command)
app.command("path", epilog=_grammar())(path_command)
app.command("compare")(compare_command)
app.command("export")(export_command)
app.command("certify")(certify_command)
app.command("predict")(predict_command)
app.command("cross-validate", epilog=_grammar())(cross_validate_command)
app.command("reproduce")(reproduce_command)


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="tightmargin")


if __name__ == "__main__":
    main()
