"""Commands in messages work when copied: the command line accepts them, and the main ones are run."""

import ast
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

import sgp
from sgp.cli import app

PACKAGE = Path(sgp.__file__).parent
CASE = Path(__file__).parent / "cases" / "advice-domain-name"
COMMAND = re.compile(r"'((?:sgp|pip install) [^']*)'|(?<!')\b(pip install [^']*'[^']*')")
VALUE = "VALUE"  # placeholder for a value inserted into a message
RUNS = CliRunner()


def texts(tree):
    """Return the texts of a module with their lines, without docstrings."""
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def advised():
    """Return the commands in all messages of the package, each with the place of the first message."""
    found = {}
    for file in sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "dashboard").rglob("*.py")]):
        for line, text in texts(ast.parse(file.read_text(encoding="utf-8"))):
            for match in COMMAND.finditer(text):
                found.setdefault(match[1] or match[2], f"{file.name}:{line}")
    return found


ADVISED = advised()
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # of a group
EXAMPLES = {each.epilog.removeprefix("Example: "): name for name, each in VERBS.items() if each.epilog}


def test_messages_of_every_kind_are_found():
    verbs = {shlex.split(each)[1] for each in ADVISED if each.startswith("sgp ")}
    assert len(verbs & set(VERBS)) >= 11
    assert sum(each.startswith("pip ") for each in ADVISED) >= 5
    assert set(EXAMPLES.values()) == set(VERBS)


@pytest.mark.parametrize("command", [each for each in {**ADVISED, **EXAMPLES} if each.startswith("sgp ")])
def test_the_command_line_knows_what_is_advised(command):
    """Command, options and at most the accepted number of arguments; required arguments may be missing."""
    _, name, *words = shlex.split(command.replace("...", ""))
    if name == VALUE:
        return
    assert name in VERBS, ADVISED.get(command)
    verb = VERBS[name]
    options = {spelling: each for each in verb.params for spelling in (*each.opts, *each.secondary_opts)}
    assert not [word for word in words if word.startswith("-") and word not in options], ADVISED.get(command)
    if words and words[-1].startswith("-") and not options[words[-1]].is_flag:
        words.append(VALUE)  # "with '--rollout'"
    if words != [VALUE]:  # otherwise the message inserts all words
        _, left, _ = verb.make_parser(click.Context(verb)).parse_args(words)
        assert not left, ADVISED.get(command)


@pytest.mark.parametrize("command", [each for each in ADVISED if each.startswith("pip ")])
def test_what_is_advised_to_install_is_what_the_package_declares(command):
    declared = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    extras = declared["optional-dependencies"]
    libraries = [*declared["dependencies"], *(line for lines in extras.values() for line in lines)]
    for word in shlex.split(command)[2:]:
        extra = re.search(r"\[([\w-]+)\]$", word)
        if extra is not None:
            assert extra[1] in extras or extra[1] == VALUE, ADVISED[command]
        elif not word.startswith("-") and VALUE not in word:
            assert word in libraries, ADVISED[command]


def answer(*words):
    found = RUNS.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return found.exit_code, found.stdout + found.stderr


@pytest.mark.parametrize("name", ["shelves", "shelves&echo"])
def test_what_solve_advises_leads_to_a_plan_when_it_is_copied(home, tmp_path, name):
    folder = tmp_path / "my folder"  # other than the name of the domain
    shutil.copytree(CASE, folder)
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("shelves", name))
    solve = ("solve", folder / "domain.pddl", folder / "problem.pddl")
    code, text = answer(*solve)
    assert code == 2
    commands = re.findall(r"'(sgp .*?)'(?= with|$|\n)", text)
    assert [each.split()[1] for each in commands] == ["import", "train"]
    for command in commands:
        code, text = answer(*(folder if word == "FOLDER" else word for word in shlex.split(command)[1:]))
        assert code == 0, text
    code, text = answer(*solve)
    assert (code, "VAL accepts the plan" in text) == (0, True), text
