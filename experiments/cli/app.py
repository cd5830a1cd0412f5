"""The command line: tightmargin COMMAND.

Standard output carries only results; errors are one line on standard error. Exit codes: 0 optimum,
1 error or not certified, 2 usage or refused input, 3 infeasible or unbounded, 4 limit reached with
an incumbent, 5 a gap that an allowance alone closes, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup
from typer.exceptions import TyperException

import tightmargin
from tightmargin.experiments.console.streams import complain

# What a user can cause with what was typed or with the data it names; RefusedError beside them.
REFUSED = (ValueError, TypeError, FileNotFoundError, ConnectionError)

# Name, its function in the module of this package with that name, and a line for --help: a command
# is loaded when it is used, since the solvers behind it take a second or two.
COMMANDS = {
    "list": ("catalogue", "list_command", "All formulations, or those of a class."),
    "show": ("catalogue", "show_command", "One formulation: mathematics, hyperparameters, class."),
    "solvers": ("catalogue", "solvers_command", "The solvers, and which of them work here."),
    "solve": ("solve", "solve_command", "Solve a formulation on data, with its certificate."),
    "path": ("path", "path_command", "One formulation over many values of a hyperparameter."),
    "compare": ("compare", "compare_command", "Gaps of relaxations, or answers of solvers."),
    "export": ("export", "export_command", "Write a formulation on data as a file."),
    "certify": ("certify", "certify_command", "Prove a saved result again."),
    "prove": ("proof_files", "prove_command", "Write the proof of a saved result as a file."),
    "check": ("proof_files", "check_command", "Check a proof file in exact arithmetic."),
    "predict": ("predict", "predict_command", "Apply a saved result to new points."),
    "cross-validate": ("cross_validate", "cross_validate_command", "Choose a hyperparameter."),
    "reproduce": ("reproduce", "reproduce_command", "Run a table or figure of a paper again."),
}
NAME_DATA = ("solve", "path", "cross-validate")  # their help ends with how data is named

_KEY_VALUE = re.compile(r"[A-Za-z_]\w*=")


class Commands(TyperGroup):
    """The commands, with our exit codes and one-line errors.

    The environment variable TIGHTMARGIN_TRACEBACK, set to anything, shows where an error arose.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        if self.commands.get(cmd_name) is None:
            self.commands[cmd_name] = _loaded(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Their lines, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run one command and leave with its exit code."""
        extra["standalone_mode"] = False
        # The names alone are what a word that is none of them is compared with.
        known: Any = dict.fromkeys(COMMANDS)
        self.commands = known | dict(self.commands)
        words = spread_settings(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, *rest, **extra)
        except TyperException as error:
            code = _failed(error, 2)
        except REFUSED as error:
            code = _failed(error, 2)
        except MemoryError:
            code = _failed(MemoryError("memory ran out: take fewer points, or another method"), 1)
        except (OSError, RuntimeError) as error:
            code = _failed(error, 1)
        except Exception as error:
            if not _is_refusal(error):
                raise
            code = _failed(error, 2)
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


def _is_refusal(error: Exception) -> bool:
    """Whether it is a RefusedError of the solvers, which are loaded if it is."""
    return any(kind.__name__ == "RefusedError" for kind in type(error).__mro__)


def _loaded(name: str) -> Any:
    module, function, _ = COMMANDS[name]
    found = importlib.import_module(f"{__package__}.{module}")
    own = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    own.command(name, epilog=_grammar() if name in NAME_DATA else None)(getattr(found, function))
    return typer.main.get_command(own)


def _grammar() -> str:
    """How data is named, from the one place where it is written down."""
    specs = importlib.import_module("tightmargin.experiments.data.specs")
    lines = (specs.__doc__ or "").strip().split("\n\n")[1:]
    # A backspace keeps the line breaks of a paragraph.
    return "\n\n".join("\b\n" + paragraph for paragraph in lines)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tightmargin {tightmargin.__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="tightmargin",
    help="Support vector machines as optimization models, with certified relaxation gaps.",
    rich_markup_mode=None,
    add_completion=True,
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


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="tightmargin")


if __name__ == "__main__":
    main()
