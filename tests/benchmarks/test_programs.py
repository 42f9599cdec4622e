import pandas as pd
import pytest

from sgp.evaluation.scores import read_scores
from tests.conftest import ROOT, python


def run(home, program, *words):
    if program in ("decoding.py", "kernels.py"):  # which compare with wlplan
        pytest.importorskip("wlplan")
    return python(ROOT / "benchmarks" / program, *words, SGP_HOME=home / "home")


def figures(folder, program, *words):
    """Return the program's scores and its output."""
    done = run(folder, program, "--csv", str(folder / "figures.csv"), *words)
    assert done.returncode == 0, done.stderr
    return list(read_scores(folder / "figures.csv").itertuples()), done.stdout


@pytest.mark.slow
def test_problems_are_solved_by_both_and_saved_and_not_tried_again(tmp_path):
    file = tmp_path / "rows.csv"
    words = ("--suites", "state-centric:interpolation", "--domains", "gripper,blocksworld", "--csv", str(file))
    one = run(tmp_path, "against_lama.py", *words, "--problems", "1")
    assert one.returncode == 0, one.stderr
    first = pd.read_csv(file)
    assert [(row.domain, row.limit) for row in first.itertuples()] == [("gripper", 60.0), ("blocksworld", 60.0)]
    for row in first.itertuples():
        assert row.method == "contrastive-jumps", "the planners that come with the package"
        assert row.length
        assert row.lama_length
        assert 0 < row.seconds < row.start_seconds
        assert row.lama_seconds > 0
        assert "python benchmarks/against_lama.py --suites" in row.note
        assert "--csv" not in row.note
    again = run(tmp_path, "against_lama.py", *words, "--problems", "2")
    assert again.returncode == 0, again.stderr
    rows = pd.read_csv(file)
    pd.testing.assert_frame_equal(rows[:2], first)
    assert len(rows) == 4
    assert "LAMA solved" in again.stdout


def test_a_domain_without_a_trained_run_is_left_out(tmp_path):
    done = run(tmp_path, "against_lama.py", "--suites", "acpbench", "--domains", "depot", "--problems", "1")
    assert done.returncode == 0, done.stderr
    assert "depot of suite acpbench is left out: no trained run plans in domain depot" in done.stderr


@pytest.mark.slow
def test_the_naive_decoder_finds_the_same_plans(tmp_path):
    words = ("--domains", "blocksworld,gripper,logistics", "--splits", "validation,interpolation", "--limit", "2")
    rows, said = figures(tmp_path, "decoding.py", *words)
    assert {(each.domain, each.variant, each.metric): each.n for each in rows} == {
        (domain, decoder, metric): 4
        for domain in ("blocksworld", "gripper", "logistics")
        for decoder in ("sgp", "naive")
        for metric in ("seconds", "ms_a_successor")
    }
    assert min(each.value for each in rows) > 0
    assert all("python benchmarks/decoding.py --domains" in each.note and "--csv" not in each.note for each in rows)
    assert "plans the same" in said


def test_wlplan_and_both_kernels_give_the_same_vectors(tmp_path):
    words = ("--domains", "blocksworld,gripper", "--problems", "2", "--steps", "5", "--passes", "1")
    rows, said = figures(tmp_path, "kernels.py", *words)
    assert "vectors the same" in said
    kinds = {"wlplan", "plain", "incremental", "incremental_by_state"}
    for domain in ("blocksworld", "gripper"):
        of = [each for each in rows if each.domain == domain]
        assert {each.variant for each in of if each.metric == "microseconds"} == kinds
        assert {each.variant for each in of if each.metric == "wlplan_ratio"} == kinds - {"wlplan"}
        assert min(each.value for each in of) > 0
        assert min(each.n for each in of) > 10


@pytest.mark.parametrize(
    ("program", "option", "expected"),
    [
        ("against_lama.py", "--problems=-1", "at least 0"),
        ("against_lama.py", "--seconds=1", "at least 2"),
        ("kernels.py", "--problems=0", "--problems is 0; expected at least 1"),
        ("kernels.py", "--steps=0", "--steps is 0; expected at least 1"),
        ("kernels.py", "--passes=0", "--passes is 0; expected at least 1"),
    ],
)
def test_an_empty_budget_is_refused(tmp_path, program, option, expected):
    done = run(tmp_path, program, option)
    assert done.returncode == 2
    assert expected in done.stderr


def test_decisions_of_two_checkouts_are_the_same_and_are_measured_once(tmp_path):
    words = ("--domains", "gripper,ferry", "--sizes", "50", "--decisions", "4", "--against", str(ROOT))
    rows, said = figures(tmp_path, "decision_cost.py", *words, "--plot", str(tmp_path / "plot.svg"))
    assert "other actions" not in said
    found = {(each.domain, each.variant, each.metric): each.value for each in rows}
    for domain in ("gripper", "ferry"):
        for variant in ("this commit", "other commit"):
            values = {metric: value for (*key, metric), value in found.items() if key == [domain, variant]}
            assert 40 < values["objects"] <= 50
            assert values["decisions"] == 5, "the first is counted apart"
            phases = [values[f"ms_{phase}"] for phase in ("candidates", "embedding", "ranking", "bookkeeping")]
            assert min(phases[:3]) > 0
            assert sum(phases) == pytest.approx(values["ms_a_decision"])
    assert (tmp_path / "plot.svg").read_text().count("<polyline") == 4
    again, _ = figures(tmp_path, "decision_cost.py", *words)
    assert [(each.variant, each.value) for each in again] == [(each.variant, each.value) for each in rows]
