import errno
import json
import logging
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sgp
from sgp import cli
from sgp.cli import app, commands, showing
from sgp.datasets.recorded import read_recorded
from sgp.datasets.recording import read_rollouts
from sgp.datasets.runs import list_runs, open_run
from sgp.datasets.store import data_folder
from sgp.evaluation.scores import Score, read_scores, select, to_frame, write_scores
from sgp.experiments import bundle, record
from sgp.experiments import listing as listings
from sgp.installed import version
from sgp.planning import validation
from sgp.planning.pddl import parse_plan
from sgp.viewer.playback import playback
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM, blocks_problem, python

COMMANDS = {"demo", "list", "generate", "import", "export", "train", "solve", "validate", "evaluate", "grid",
            "scaling", "retrieve", "table", "map", "dashboard", "site"}  # fmt: skip
CASES = Path(__file__).parent / "cases"
EMBEDPLAN = str(data_folder() / "measured" / "scores-embedplan.csv")
runner = CliRunner()


def call(*words):
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def output_of(*words):
    """Return the output of a command that succeeds."""
    code, out, err = call(*words)
    assert code == 0, err
    return out


def error_of(*words):
    """Return the error of a command that ends with one."""
    code, _, err = call(*words)
    assert code == 2
    return err


@pytest.fixture
def files(tmp_path):
    """Domain and problem files: two blocks, a broken one, an unsolvable one, another domain's."""
    table = "(ontable a) (ontable b) (clear a) (clear b)"
    contents = {
        "domain.pddl": BLOCKS,
        "two.pddl": blocks_problem("a b", table, "(on a b)").problem_pddl,
        "never.pddl": blocks_problem("a b", table, "(on a b) (on b a)").problem_pddl,
        "broken.pddl": blocks_problem("a b", table, "(on a").problem_pddl,
        "courier.pddl": COURIER,
        "courier-1.pddl": COURIER_PROBLEM,
        "good.plan": "(pick-up a)\n(stack a b)\n",
        "bad.plan": "(pick-up a)\n",
        "unreadable.plan": "pick up a\n",
        "adl.pddl": BLOCKS.replace(":effect (and", ":effect (and (when (holding ?x) (clear ?x))"),
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def started(*words, sh="", **environment):
    """Run the command in a separate process, with a shell suffix and environment variables."""
    command = shlex.join([sys.executable, "-m", "sgp", *map(str, words)])
    return subprocess.run(
        ["sh", "-c", f"{command} {sh}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        timeout=100,
    )


@pytest.fixture
def blocks_run(quick_run, shared_home, monkeypatch):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    return quick_run("state-centric", "blocksworld").folder


@pytest.fixture
def solve(blocks_run, files):
    """The command `solve` on a problem of `files`, by the shared run."""

    def solved(*words, domain="domain.pddl", problem="two.pddl"):
        return call("solve", files / domain, files / problem, "--run", blocks_run, *words)

    return solved


def test_help_names_every_command_and_each_has_an_example():
    code, out, _ = call("--help")
    assert code == 0
    assert set(re.findall(r"^  ([a-z]+) ", out.partition("Commands:")[2], re.MULTILINE)) == COMMANDS
    for name in COMMANDS:
        assert f"Example: sgp {name}" in output_of(name, "--help")


@pytest.mark.parametrize("name", commands.REPLACEMENTS)
def test_a_command_that_is_gone_names_its_successor(name):
    code, out, err = call(name, "--suite", "state-centric")
    assert (code, out) == (2, "")
    assert err == f"sgp: there is no command '{name}' any more; use '{commands.REPLACEMENTS[name]}'\n"
    assert commands.REPLACEMENTS[name].split()[1] in {*COMMANDS, "-m"}


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['sgp', '--help']\nfrom sgp.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'pandas', 'numpy', 'pymimir', 'xgboost', 'wlplan', 'numba') if m in sys.modules])"
    )
    assert python("-c", code).stdout.strip().splitlines()[-1] == "[]"


def test_train_prints_the_runs_folder_last_and_solve_uses_it(home, files):
    out = output_of("train", "--method", "zero-change", "--domain", "blocks", "--suite", "state-centric")
    folder = out.strip().splitlines()[-1]
    assert folder == str(home / "zero-change" / "wl" / "state-centric" / "blocksworld" / "seed13")
    plan = files / "out.plan"
    code, out, err = call("solve", files / "domain.pddl", files / "two.pddl", "--run", folder, "--plan", plan)
    assert code == 0
    assert parse_plan(out) == parse_plan(plan.read_text()) == parse_plan("(pick-up a)\n(stack a b)")
    assert folder in call("list", "runs")[1], "whole"
    assert "VAL accepts the plan" in err


def test_solve_says_by_its_exit_code_whether_it_solved(solve, files):
    assert solve()[0] == 0
    code, out, err = solve("--rollout", files / "r.jsonl", "--plan", files / "x", problem="never.pddl")
    assert (code, out) == (1, "")
    assert err.startswith("not solved: ")
    assert not (files / "x").exists()
    assert not read_rollouts(files / "r.jsonl")[0].solved


def test_solve_removes_redundant_actions_by_default(home, files):
    run = sgp.train("goal-count", "blocksworld", "state-centric")
    problem = sgp.load_suite("state-centric").problems("blocksworld", "interpolation")[0]
    (files / "towers.pddl").write_text(problem.domain_pddl)
    (files / "p1.pddl").write_text(problem.problem_pddl)
    rollout = sgp.solve(problem, run)
    for options, plan in (((), rollout.reduced_plan), (("--keep-redundant",), rollout.plan)):
        code, out, err = call("solve", files / "towers.pddl", files / "p1.pddl", "--run", run.folder, *options)
        assert code == 0
        assert parse_plan(out) == plan
        assert f"solved in {len(plan)} actions" in err
        assert sgp.validate(problem, plan).valid
    assert len(rollout.reduced_plan) < len(rollout.plan)


def test_a_run_plans_where_its_actions_quantify_over_the_objects_of_one_problem(solve, files, caplog):
    every = BLOCKS.replace(":precondition (and", ":precondition (and (forall (?z) (not (on ?z ?x)))", 1)
    assert every != BLOCKS
    (files / "every.pddl").write_text(every)
    code, out, _ = solve(domain="every.pddl")
    assert (code, parse_plan(out)) == (0, parse_plan("(pick-up a)\n(stack a b)"))
    assert "for the objects of this problem alone" in caplog.text


@pytest.mark.parametrize(
    ("domain", "problem", "words"),
    [
        ("domain.pddl", "broken.pddl", "broken.pddl, line 1: the '(' of this line is never closed; 1 ')' is missing"),
        ("domain.pddl", "absent.pddl", "absent.pddl: cannot be read (No such file or directory); check the path"),
        ("adl.pddl", "two.pddl", "and adds the actions pick-up-1/1, pick-up-2/1, unstack-1/2"),
        ("courier.pddl", "courier-1.pddl", "lacks the predicates clear/1"),
        ("two.pddl", "two.pddl", "expected '(domain NAME)' after 'define', found '(problem ...)'"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(solve, domain, problem, words):
    code, out, err = solve(domain=domain, problem=problem)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("sgp: ")
    assert all(line.startswith("    ") for line in err.splitlines()[1:])  # the place of the error


def test_the_version_is_printed():
    assert started("--version").stdout.decode() == f"sgp {version()}\n"


def test_a_log_is_shown_only_on_request(blocks_run, files, caplog):
    words = ("solve", files / "domain.pddl", files / "two.pddl", "--run", blocks_run)
    with caplog.at_level(logging.NOTSET, logger="sgp"):
        call(*words)
        assert not [each for each in caplog.records if each.levelno < logging.WARNING]
        call("--verbose", *words)
        assert any(str(blocks_run) in each.getMessage() for each in caplog.records)


WRONG = f"""
train --domain gripper --suite nope -> unknown suite 'nope'; expected one of acpbench, harder, huge, scaling, selection
train --domain gripper --suite state-centrik -> (did you mean 'state-centric'?)
train --domain nope --suite state-centric -> no domain 'nope'; expected one of blocksworld
train --method nope --domain gripper --suite state-centric -> unknown method 'nope'
train --method contrastive-jump --domain gripper --suite state-centric -> (did you mean 'contrastive-jumps'?)
train --domain gripper --suite state-centric --set rounds=5 -> (did you mean 'boosting.rounds'?)
train --domain gripper --suite state-centric --variant x -> no variant 'x'
train --domain gripper --suite state-centric --set beam -> has no '='
train --domain gripper --suite state-centric --device tpu -> device is 'tpu'
train --domain gripper --suite state-centric --seed -5 -> seed is -5; expected a whole number, 0 to
evaluate /nowhere --suite state-centric -> /nowhere holds no run.json
generate --domain gripper --size 3 -> gripper has no problem of exactly 3 objects
generate --domain gripper --size 99999999 -> size is 99,999,999 objects; expected at most 100,000
generate -> nothing to generate; give --domain and --size
import /nowhere --suite mine -> /nowhere does not exist; give a folder of PDDL files
import /etc/passwd --suite mine -> /etc/passwd is no folder, and a suite is imported from one; unpack it, or give its
list nothing -> unknown listing 'nothing'; expected one of suites, domains, methods, papers, ru
grid --variants state-centric:x -> method state-centric has no variant 'x'; expected one of wl-xgb
grid --variants nope -> unknown method 'nope'
grid --preset magic -> unknown preset 'magic'; expected one of variants, ablation, jackknife
grid --preset ablation --html x -> preset ablation has no plot
grid --splits hard -> has no split 'hard'
grid --seeds a -> seeds are 'a'; expected whole numbers separated by commas
grid --set colour=red -> no method of the grid has the setting 'colour'
grid --decoding backwards -> no method of the grid has the decoding 'backwards'
export /nowhere --out x.zip -> /nowhere holds no run.json
table 9 -> there is no table '9' here; expected 1, 3, 4, 5, scaling, or a paper and its table: aiw-ad 1, 2
table --report r --scores /nowhere.csv -> /nowhere.csv is missing
table --report r --scores /etc -> /etc is not a file of scores
table --report r --suite mine -> no scores on suite 'mine', but on harder, state-centric, track; choose
table --report r --suite acpbench --scores {EMBEDPLAN} -> there is nothing to report: no scores of planners, no attempts
table --report /dev/null -> /dev/null: File exists; check the path
table 1 --splits nonsense -> there are no scores of split 'nonsense'; expected some of extrapol
table state-centric 2 -> there is no table 2 of state-centric here; expected one of 1, 3, 4, 5
table magic 1 -> unknown paper 'magic'; expected one of aiw-ad, dynamic-validation, embedplan
table scaling --svg x.svg -> of dynamic-validation has no drawing; expected --svg with state-centric 1
table 3 --svg x.svg -> of state-centric has no drawing; expected --svg with state-centric 1
table --scores /nowhere.json -> /nowhere.json is missing
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_wrong_words_are_answered_in_one_sentence(home, line):
    words, _, expected = line.partition(" -> ")
    code, out, err = call(*words.split())
    assert (code, out) == (2, "")
    assert expected in err
    assert err.startswith("sgp: ")
    assert not Path("problems").exists()
    assert not home.exists()


def test_solve_keeps_the_plan_where_val_fails(solve, files, monkeypatch):
    monkeypatch.setattr(validation, "val_program", lambda: Path("/bin/false-friend"))
    code, out, err = solve("--plan", files / "out.plan")
    assert code == 0
    assert "sgp's simulator with unified-planning's validator accepts the plan" in err
    (files / "out.plan").unlink()
    monkeypatch.undo()
    monkeypatch.setattr(validation.importlib.util, "find_spec", lambda name: None)
    code, again, err = solve("--plan", files / "out.plan")
    assert (code, again) == (2, out)
    assert "'Validate' is missing" in err
    assert (files / "out.plan").read_text() == out


def test_solve_writes_a_page_that_names_the_model(solve, blocks_run, files):
    assert solve("--html", files / "plan.html", "--rollout", files / "r.jsonl")[0] == 0
    (recorded,) = read_recorded(files / "r.jsonl")
    key = open_run(blocks_run).key
    assert recorded.about.model == f"state-centric {key.variant} seed 13"
    assert recorded.about.domain == "blocksworld"
    assert (files / "plan.html").read_text() == sgp.viewer.html_page(playback(recorded))


def test_validate_gives_the_verdict(files):
    validate = ["validate", files / "domain.pddl", files / "two.pddl"]
    assert "Plan valid" in output_of(*validate, files / "good.plan")
    code, out, _ = call(*validate, files / "bad.plan")
    assert (code, out) == (1, f"not valid: {files / 'bad.plan'}: at its end the goal (on a b) is not met\n")
    assert "unreadable.plan, line 1: expected '(action object ...)'" in error_of(*validate, files / "unreadable.plan")


@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("bom", 0, "Plan valid"),
        ("domain-name-differs", 0, "problem.pddl, line 1: the domain names differ"),
        ("plan-on-one-line", 0, "Plan valid"),
        ("val-keyword-after", 0, "Plan valid"),
        ("val-supertype-variable", 0, "Plan valid"),
        ("validate-broken-problem-message", 2, "problem.pddl, line 3: object with name 's9' is undefined"),
        ("validate-broken-problem-untyped", 2, "problem.pddl, line 1: predicate with name 'zz' is undefined"),
        ("validate-extra-arguments", 1, "plan.txt, line 1: (unstack b2 b3 extra): unstack takes 2 objects, found 3"),
        ("validate-timestamps-out-of-order", 0, "Plan valid"),
        ("validate-too-few-arguments", 1, "plan.txt, line 2: (pour t0 s1): pour takes 3 objects, found 2"),
        ("validate-undeclared-object-in-plan", 1, "plan.txt, line 1: (a k z): the problem has no object 'z'"),
        ("validate-unknown-action", 1, "plan.txt, line 2: (reach-goal): the domain has no action 'reach-goal'"),
        ("validate-wrong-type", 1, "plan.txt, line 1: (pour s0 t0 s1): 's0' is no tin"),
    ],
)
def test_validate_reads_what_val_does_not_and_refuses_what_val_passes_over(case, code, words, caplog):
    found, out, err = call("validate", *(CASES / case / name for name in ("domain.pddl", "problem.pddl", "plan.txt")))
    assert found == code
    assert words in out + err + caplog.text
    assert "VAL failed" not in out + err + caplog.text
    assert code != 1 or len(out.splitlines()) == 1


def test_evaluate_writes_scores_and_table_reads_them(blocks_run, files):
    out = output_of(
        "evaluate", blocks_run, "--suite", "state-centric", "--splits", "validation,interpolation", "--jobs", 1,
        "--json", files / "s.json", "--csv", files / "s.csv",
    )  # fmt: skip
    assert "95 % Wilson interval" in out
    assert "otherwise" in out
    records = json.loads((files / "s.json").read_text())
    whole = [each for each in records if each["metric"] == "coverage" and not each["size"]]
    assert [(each["split"], each["n"]) for each in whole] == [("validation", 3), ("interpolation", 3)]
    assert read_scores(files / "s.csv").equals(read_scores(files / "s.json"))
    out = output_of("table", "1", "--scores", files / "s.json", "--json", files / "t.json", "--svg", files / "t.svg")
    assert "blocksworld" in out
    papers = {each["paper"] for each in json.loads((files / "t.json").read_text())}
    assert papers == {"", "state-centric"}
    assert (files / "t.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_tables_show_the_committed_measurements():
    for number, words in (("1", "symt-ed regrounding, published"), ("3", "1,552,942"), ("4", "CodeT5"), ("5", "207")):
        out = output_of("table", number, "--notes")
        assert words in out
        assert "N + 1" in out  # among the disagreements
    for domain in ("blocksworld", "gripper", "logistics", "visitall"):
        assert domain in call("table", "1", "--splits", "extrapolation")[1]


def test_transformers_stand_beside_what_their_paper_prints():
    """Every cell of Table 2 is measured, with three seeds."""
    out = output_of("table", "symt", "2", "--splits", "validation")
    decoded = {"ed": ("greedy", "applicable", "regrounding"), "e": ("lowest",)}
    decoded["plangpt"] = decoded["ed"]
    lines = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "│" in line]
    for name in (f"symt {variant} · {each} x3" for variant, decodings in decoded.items() for each in decodings):
        (place,) = (place for place, line in enumerate(lines) if line[0] == name)
        assert lines[place + 1][0] == "published"
        assert all(lines[place][1:] + lines[place + 1][1:])
    assert "faithful to the paper's main text" in " ".join(out.split())


def test_one_training_is_tried_by_four_decodings(quick_run, shared_home, monkeypatch, tmp_path):
    monkeypatch.setenv("SGP_HOME", str(shared_home))
    run = quick_run("symt", "visitall", "ed")
    output_of(
        "evaluate", run.folder, "--suite", "state-centric", "--splits", "validation", "--decisions", 5, "--jobs", 1,
        "--decoding", "greedy,applicable,regrounding,ranked", "--csv", tmp_path / "s.csv",
    )  # fmt: skip
    solved = select(read_scores(tmp_path / "s.csv"), metric="coverage", size=None)
    assert list(solved.decoding) == ["greedy", "applicable", "regrounding", "ranked"]
    assert set(solved["n"]) == {24}


def test_the_table_of_scaling_stands_beside_the_papers(tmp_path):
    facts = {"method": "m", "variant": "v", "selected_by": "loss", "domain": "ferry", "suite": "mine"}
    score = Score(**facts, split="scaling", n=9, metric="scale", value=7)
    curve, table = tmp_path / "curve.csv", tmp_path / "t.csv"
    write_scores(curve, to_frame([score]))
    out = output_of("table", "scaling", "--scores", curve, "--markdown", "--csv", table)
    assert "| ferry | m v x1 | 7 |" in out
    assert "|  | gnn-value, published | 107 | 72.24 | 57 | 37.74 | ≥148 | ≥99.34 |  |" in out
    assert len(read_scores(table)) == 1 + 9 * 3 * 2 + 1, "and how a published curve ended"
    output_of("table", "--scores", curve, "--report", tmp_path / "report")  # curves are reported whatever their suite


@pytest.mark.slow
def test_a_grid_on_the_command_line_reports_and_exports(home, tmp_path):
    out = output_of(
        "grid", "--domains", "gripper", "--variants", "zero-change,contrastive-jumps:one-step", "--splits",
        "interpolation", "--baselines", "--diagnostics", "--jobs", 1, "--out", tmp_path, "--decoding", "default,greedy",
    )  # fmt: skip
    scores, attempts = out.split()
    found = select(read_scores(scores), method="zero-change", metric="coverage")
    assert set(found.decoding) == {"default", "greedy"}
    out = output_of("table", "1", "--scores", scores)
    assert "contrastive-jumps one-step x3" in out
    assert "fast-downward lama-first x1" in out
    out = output_of("table", "--scores", scores, "--attempts", attempts, "--report", tmp_path / "report")
    assert out.strip() == str(tmp_path / "report" / "report.html")
    run = list_runs()[0]
    output_of("export", run.folder, "--out", tmp_path / "run.zip")
    assert output_of("import", tmp_path / "run.zip").strip() == str(run.folder)
    splits = ("--suite", "state-centric", "--splits", "validation")
    assert "top-1" in output_of("evaluate", run.folder, "--diagnose", *splits, "--jobs", 1)


@pytest.mark.parametrize(
    ("chosen", "printed"),
    [
        ({"candidates": "iw"}, ["--set candidates=iw"]),
        ({"decoding.beam": "1"}, ["--decoding default+beam=1"]),
        (
            {"candidates": "iw", "decoding.beam": "1", "min_novel": "4", "decoding.margin": "2"},
            ["--set candidates=iw --set min_novel=4", "--decoding default+beam=1+margin=2"],
        ),
    ],
)
def test_select_prints_what_train_and_evaluate_take(monkeypatch, chosen, printed):
    monkeypatch.setattr("sgp.experiments.grid.select", lambda *_: ([], chosen))
    assert [line for line in output_of("grid", "--preset", "select").splitlines() if line.startswith("--")] == printed


def test_generate_import_experts_and_list(home, tmp_path):
    out = output_of("generate", "--domain", "visitall", "--size", 4, "--count", 3, "--seed", 1, "--out", tmp_path / "v")
    assert len(out.split()) == 3
    assert (
        output_of("import", tmp_path / "v", "--suite", "grids").strip()
        == "grids/v: problems 3 (recognised as domain visitall)"
    )
    made = runner.invoke(bundle.app, ["experts", "--suite", "grids", "--jobs", "2"], catch_exceptions=False)
    assert made.stdout.strip() == "grids/v/problems: 3 of 3 with a plan"
    output_of("train", "--method", "zero-change", "--domain", "v", "--suite", "grids")
    out = output_of("list")
    for word in ("grids", "state-centric", "zero-change", "blocksworld"):
        assert word in out


def test_expert_plans_are_refused_in_one_sentence(home):
    for words, expected in (
        ("--suite nope", "unknown suite 'nope'"),
        ("--suite track --teacher x", "unknown teacher 'x'"),
    ):
        done = python("-m", "sgp.experiments.bundle", "experts", *words.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"sgp: {expected}; expected one of")
        assert done.stderr.count("\n") == 1


def test_a_full_disk_is_one_sentence_and_loses_nothing(home, files, monkeypatch):
    train = ["train", "--method", "zero-change", "--domain", "gripper", "--suite", "state-centric"]
    call(*train)
    (folder,) = [run.folder for run in list_runs()]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(self, text, **_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", full)
        code, _, err = call(*train, "--again")
    assert code == 2
    assert "no space left while writing" in err
    assert "free some and run the command again" in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_plan_is_printed_where_a_file_cannot_be_written(solve, files):
    code, out, err = solve("--rollout", "/dev/full", "--plan", files / "plan")
    assert code == 2
    assert "no space left while writing /dev/full" in err
    assert out.startswith("(pick-up a)\n(stack a b)\n")
    assert (files / "plan").read_text() == out
    code, _, err = solve("--plan", files / "plan" / "p")
    assert code == 2
    assert "cannot be written" in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--plan two.pddl", "two.pddl is read"),
        ("--plan out --html ./out", "name the same file"),
        ("--seconds nan", "is nan; expected a positive number or none\n"),
        ("--memory nan", "is nan; expected a positive number or none\n"),
    ],
)
def test_overwriting_outputs_and_limits_that_are_no_number_are_refused(solve, files, monkeypatch, words, expected):
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() for path in files.iterdir()}
    code, _, err = solve(*words.split())
    assert code == 2
    assert expected in err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_limits_are_outcomes_of_the_command_line(solve):
    for limit, outcome in (("--horizon=1", "horizon"), ("--seconds=1e-9", "timeout"), ("--memory=1e-3", "memory")):
        code, _, err = solve(limit, problem="never.pddl")
        assert code == 1
        assert err.startswith(f"not solved: {outcome}")


@pytest.mark.slow
def test_a_killed_training_leaves_no_half_run(tmp_path):
    """A real process is killed while trees are fitted; afterwards the same command trains."""
    environment = {**os.environ, "SGP_HOME": str(tmp_path / "home")}
    command = ["sgp", "train", "--domain", "visitall", "--suite", "state-centric", "--set", "boosting.rounds=12"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("home/*/*/*/*/.seed13.draft")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=60)
    listed = subprocess.run(["sgp", "list", "runs"], env=environment, capture_output=True, text=True)
    assert str(tmp_path) not in listed.stdout
    trained = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert trained.returncode == 0
    assert open_run(trained.stdout.strip().splitlines()[-1]).key.domain == "visitall"


@pytest.mark.slow
def test_ctrl_c_ends_with_a_sentence_and_the_same_command_goes_on(home, tmp_path):
    output_of("generate", "--domain", "blocksworld", "--size", 9, "--count", 6, "--out", tmp_path / "blocks")
    output_of("import", tmp_path / "blocks", "--suite", "mine")
    command = ["sgp", "train", "--domain", "blocks", "--suite", "mine", "--jobs", "1", "--set", "boosting.rounds=3"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  ignored behind a shell
    )

    def cached():
        return {path.name: path.stat().st_mtime_ns for path in (home / "cache" / "experts").rglob("*.json")}

    deadline = time.monotonic() + 60
    while not cached() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "sgp: interrupted; run the same command again to resume"
    before = cached()
    assert 1 <= len(before) < 6
    assert open_run(output_of(*command[1:]).strip()).key.suite == "mine"
    assert len(cached()) == 6
    assert before.items() <= cached().items(), "what was saved is not made again"


@pytest.mark.parametrize(("terminal", "flags", "served"), [(True, [], 1), (True, ["--no-serve"], 0), (False, [], 0)])
def test_the_demo_ends_by_serving_where_somebody_looks(monkeypatch, capsys, terminal, flags, served):
    ports = []
    monkeypatch.setattr(record, "run_demo", lambda jobs, console: None)
    monkeypatch.setattr(showing, "serve", lambda port, browser: ports.append(port))
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    cli.app(["demo", *flags], standalone_mode=False)
    said = capsys.readouterr().out
    assert len(ports) == served
    assert f"http://localhost:{ports[0] if served else showing.free_port()}" in said


def test_a_taken_port_is_not_chosen():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert showing.free_port(number) > number


@pytest.mark.parametrize("what", ["x" * 1000, "two\nlines"])
def test_an_unexpected_error_is_a_sentence_and_a_file(what, home, tmp_path, monkeypatch):
    def listing():
        raise ZeroDivisionError(what)

    monkeypatch.setitem(listings.LISTINGS, "methods", listing)
    code, _, err = call("list", "methods")
    assert code == 70
    assert err.count("\n") == 1
    assert len(err) < 500
    assert re.match(r"sgp: unexpected error \(ZeroDivisionError: .*\); the traceback is in ", err)
    (file,) = (home / "errors").iterdir()
    assert str(file) in err
    assert what in file.read_text()
    assert "Traceback (most recent call last)" in file.read_text()


def test_an_unexpected_error_is_written_where_there_is_room(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(commands.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    assert str(tmp_path / "temporary" / "sgp-errors") in commands.report_unexpected(ValueError("x"))
    monkeypatch.setattr(commands.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert commands.report_unexpected(ValueError("x")).endswith("the traceback is printed above: please report it")


def test_what_the_system_says_of_disks_is_no_unexpected_error(home, monkeypatch):
    for error, words in (
        (OSError(errno.ENOSPC, "No space"), "no space left on the disk"),
        (OSError(errno.EFBIG, "File too large"), "a file is larger than this process may write"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "/x: Permission denied; check the path"),
    ):
        monkeypatch.setitem(listings.LISTINGS, "methods", lambda error=error: (_ for _ in ()).throw(error))
        assert words in error_of("list", "methods")
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [(["table", "state-centric", "1"], 0), (["table", "caf\xe9"], 2), (["caf\xe9"], 2), (["generate", "--help"], 0)],
)
def test_a_terminal_of_ascii_gets_ascii(words, code, home):
    done = started(*words, PYTHONIOENCODING="ascii")
    assert done.returncode == code
    text = (done.stdout + done.stderr).decode("ascii")
    assert "unexpected error" not in text
    assert ("?" in text) == ("--help" not in words)


def test_a_path_of_any_bytes_is_printed_as_it_is(tmp_path):
    out = os.fsdecode(bytes(tmp_path) + b"/caf\xe9")
    done = started("generate", "--domain", "gripper", "--size", 6, "--out", out, PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.path.exists(done.stdout.rstrip())


@pytest.mark.parametrize(
    ("words", "sh", "code"),
    [
        ("list papers", "| head -n 1", 0),
        ("list papers", ">&-", 0),
        ("list nothing", "2>&-", 2),
        ("list papers", "> /dev/full", 2),
        ("--help", "> /dev/full", 2),
        ("list nothing", "2> /dev/full", 2),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_nobody_takes_is_no_traceback(words, sh, code, unbuffered):
    done = started(*words.split(), sh=sh, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == code
    assert done.stderr.count(b"\n") == (sh == "> /dev/full")
    assert b"unexpected error" not in done.stderr


@pytest.mark.parametrize("unsolved", [[], ["--seconds", 1e-9]])
def test_an_old_plan_is_gone_where_there_is_no_new_one(unsolved, solve, files):
    old = {f"--{name}": files / f"old.{name}" for name in ("plan", "rollout", "html")}
    for file in old.values():
        file.write_text("old")
    code, _, _ = solve(*unsolved, *(word for pair in old.items() for word in pair), problem="never.pddl")
    assert code == 1
    assert not old["--plan"].exists()
    assert "old" not in [file.read_text() for file in old.values() if file.exists()]


def test_a_user_without_a_home_is_asked_for_one(tmp_path, monkeypatch):
    def unknown(user):
        raise KeyError(user)

    for name in ("HOME", "SGP_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    err = error_of("list", "runs")
    assert err.count("\n") == 1
    assert "set SGP_HOME or HOME" in err
    monkeypatch.setattr(commands.tempfile, "gettempdir", lambda: str(tmp_path))
    assert str(tmp_path / "sgp-errors") in commands.report_unexpected(ValueError("x"))


HOMELESS = """import pwd, sys
def unknown(user): raise KeyError(user)
pwd.getpwuid = unknown
from sgp.cli import main
main()"""


def test_without_a_home_a_run_plans_and_no_run_is_one_sentence(blocks_run, files):
    for names, words, code, plan in (
        (("courier.pddl", "courier-1.pddl"), [], 2, ""),
        (("domain.pddl", "two.pddl"), ["--run", blocks_run], 0, "(pick-up a)\n(stack a b)"),
    ):
        command = [sys.executable, "-c", HOMELESS, "solve", *(files / name for name in names), *words]
        environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode, parse_plan(done.stdout)) == (code, parse_plan(plan))
        assert ("set SGP_HOME or HOME" in done.stderr) == (code == 2)


def test_an_evaluation_goes_on_where_finished_problems_cannot_be_saved(blocks_run, files, monkeypatch, caplog):
    monkeypatch.setenv("SGP_HOME", str(files / "two.pddl"))
    words = ("evaluate", blocks_run, "--suite", "state-centric", "--splits", "validation,interpolation", "--jobs", 1)
    assert "n = 3" in output_of(*words)
    assert len([record for record in caplog.records if "begins again" in record.getMessage()]) == 1


def test_a_warning_is_a_sentence_and_is_given_once(files, tmp_path):
    """The warning on costs is given at two places of the code."""
    costs = BLOCKS.replace(":effect (and", ":effect (and (increase (total-cost) 2)", 1)
    (files / "costs.pddl").write_text(costs.replace("(:predicates", "(:functions (total-cost)) (:predicates"))
    folder = tmp_path / "mine"
    folder.mkdir()
    (files / "costs.pddl").rename(folder / "domain.pddl")
    problem = (files / "two.pddl").read_text().rstrip()[:-1]
    (folder / "two.pddl").write_text(f"{problem} (:metric minimize (total-cost)))")
    home = str(tmp_path / "home")
    assert started("import", folder, "--suite", "x", SGP_HOME=home).returncode == 0
    done = started("train", "--method", "contrastive-jumps", "--domain", "mine", "--suite", "x", SGP_HOME=home)
    assert done.returncode == 0, done.stderr
    done = started("solve", folder / "domain.pddl", folder / "two.pddl", "--run", done.stdout.split()[-1].decode())
    warning, outcome = done.stderr.decode().splitlines()
    assert re.fullmatch("sgp: domain .*: action costs are not learned: .*", warning)
    assert outcome.startswith("solved")


@pytest.mark.parametrize("name", ["SGP_HOME", "HOME"])
def test_a_store_that_cannot_be_written_is_named(name, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    for other in ("SGP_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(other, "")
    monkeypatch.setenv(name, str(tmp_path / "file"))
    err = error_of("train", "--method", "zero-change", "--domain", "gripper", "--suite", "state-centric")
    assert err.startswith(f"sgp: {tmp_path / 'file'}")
    assert "set SGP_HOME to a folder that can be written" in err


def test_no_folder_for_temporary_files_is_a_sentence(files, monkeypatch):
    def none():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp', '/var/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", none)
    assert "set TMPDIR" in error_of("validate", files / "domain.pddl", files / "two.pddl", files / "good.plan")
