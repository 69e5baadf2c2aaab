"""Words of commands: nobody but a shell puts a variable's value into one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from stacks.domain.environment import Environment, Path
from stacks.domain.findings import Severity
from stacks.domain.rules.rule import Facts, Problem, Rule

SOURCE = "this kit: commands are run as words, without a shell"
SHELLS = ("bash", "dash", "sh", "zsh")
_VARIABLE = re.compile(r"(^|=)\$(\{[A-Za-z_]\w*\}|\([A-Za-z_]\w*\)|[A-Za-z_]\w*)$", re.ASCII)


def words_are_meant_as_they_stand(facts: Facts) -> Iterator[Problem]:
    for path, words, fix in _word_lists(facts.environment):
        if words and PurePosixPath(words[0]).name in SHELLS:
            continue
        for index, word in enumerate(words):
            if _VARIABLE.search(word):
                yield Problem(
                    (*path, index),
                    word,
                    "words that mean what they are",
                    "nobody puts the variable's value there: the program gets the word with its $",
                    fix,
                )


def _word_lists(environment: Environment) -> Iterator[tuple[Path, tuple[str, ...], str]]:
    by_shell = "write the value, or a list of three words: sh, -c, and the command as one text"
    for name, job in environment.jobs.items():
        yield ("jobs", name, "command"), job.command, by_shell
        yield ("jobs", name, "compile_command"), job.compile_command, by_shell
    for name, fleet in environment.fleets.items():
        yield ("fleets", name, "command"), fleet.command, by_shell
        by_engine = "write the value, or set a variable that the engine reads by itself"
        yield ("fleets", name, "engine_arguments"), fleet.engine_arguments, by_engine


RULES = (
    Rule("NK294", Severity.WARNING, "variable that stays a word", "the program gets $NAME, not its value", SOURCE, words_are_meant_as_they_stand),
)  # fmt: skip
