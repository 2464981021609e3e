"""The command line: `ebformer COMMAND`. One file per command, imported only when its command runs."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import warnings
from contextlib import suppress
from difflib import get_close_matches
from typing import NoReturn

import click

from ebformer.cli.saying import refuse, say
from ebformer.cli.termination import exit_code, heed_signals
from ebformer.errors import EbformerError

COMMANDS = {
    "estimate": "Estimate the rate of every row of a table, with intervals.",
    "apply": "Score new rows with a fit that `estimate --save` kept.",
    "signals": "Find pairs that are reported more often than expected.",
    "compare": "Find the method that predicts best on a table.",
    "drift": "Learn from an earlier period how rates move, for predictions.",
    "report": "Write an HTML page about a table, with figures.",
    "methods": "List the methods and what each can do.",
    "export": "Write a network as ONNX, for other languages.",
    "demo": "Shrink a published table and write a report to open.",
    "datasets": "List or write the small tables that ship with ebformer.",
    "arena": "Compare methods on simulated priors, where the truth is known.",
    "floor": "Find the least regret that a simulated world allows.",
    "train": "Pre-train a transformer.",
    "fielddata": "Score methods on real data: hockey, baseball, books, yours.",
    "reproduce": "Rebuild the tables and figures of the paper beside ours.",
}
LABORATORY = {"arena", "floor", "train", "fielddata", "reproduce"}
"""Commands that live upstairs."""
EXTRAS = {
    "matplotlib": "plot",
    "jinja2": "plot",
    "joblib": "arena",
    "threadpoolctl": "arena",
    "pyarrow": "arena",
    "distributed": "cluster",
    "optuna": "train",
    "onnx": "onnx",
}
"""Packages that only some commands need, and the extra that installs each."""


class ClosedPipe(Exception):
    """Whoever read our output has stopped, as `head` does."""


class LazyGroup(click.Group):
    """Finds `command` in ebformer.cli.NAME when NAME is asked for, so that `--help` and each command start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        home = "ebformer.lab.commands" if name in LABORATORY else "ebformer.cli"
        command: click.Command = importlib.import_module(f"{home}.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = get_close_matches(args[0], COMMANDS, n=1)
        if near and args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error  # click would make it exit code 1

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="ebformer")
def ebformer() -> None:
    """Better rates from noisy counts: empirical Bayes by pre-trained transformers and exact classical methods.

    Give a table with one row per unit (player, policy, district), a column of counts and, where units were not all
    watched equally long, a column of exposures; or successes and trials, or effects and their standard errors. Each is
    pulled towards what all rows together make plausible.

    \b
    First steps:
      ebformer datasets league -o league.csv
      ebformer estimate league.csv --count goals --exposure games -o shrunken.csv
      ebformer estimate batters.csv --count hits --trials at_bats -o averages.csv
      ebformer COMMAND --help
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 1 a complaint, 2 wrong usage, 128 + a signal: 130 Ctrl-C, 141 a pipe."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    warnings.showwarning = lambda message, *_, **__: say(message)
    if sys.stdout is None:  # the next file to be opened would take its place
        say("standard output is closed: send it to a file, or to /dev/null if not wanted")
        return 1
    heed_signals()
    try:
        code = ebformer.main(args=arguments, prog_name="ebformer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except EbformerError as error:
        say(error)
        return 1
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        say(f"this needs {package}: pip install 'ebformer[{EXTRAS[package]}]'")
        return 1
    except click.ClickException as error:
        refuse(error)
        return error.exit_code
    except (BrokenPipeError, ClosedPipe):
        _flush_or_give_up()
        return 128 + signal.SIGPIPE
    except MemoryError:
        say("there is not enough memory for this: give it more, or fewer rows")
        return 1
    except OSError as error:
        say(f"{error.filename or 'the system'}: {error.strerror or error}")
        _flush_or_give_up()
        return 1
    except (KeyboardInterrupt, click.Abort):
        with suppress(OSError):  # the terminal may be what has gone
            say("interrupted, no unfinished file was left")
        return exit_code()


def _flush_or_give_up() -> None:
    """Leave nothing for the interpreter to write when it exits: into a closed pipe or on a full disk it would fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
