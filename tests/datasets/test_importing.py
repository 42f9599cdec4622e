from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp.datasets.experts import kept_plans
from sgp.datasets.importing import import_folder
from sgp.errors import PddlError, SuiteError
from tests.conftest import BLOCKS, COURIER, COURIER_PROBLEM, blocks_problem

CASES = Path(__file__).parents[1] / "cases"
PROBLEM = blocks_problem("a b", "(ontable a) (ontable b) (clear a) (clear b)", "(on a b)").problem_pddl


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def splits(suite, domain):
    return {split: [entry.name for entry in entries] for split, entries in suite.domain(domain).splits.items()}


def test_the_published_layout_with_its_plans(home, tmp_path):
    folder = write(
        tmp_path / "published",
        {
            "blocks/domain.pddl": BLOCKS,
            "blocks/train/p10.pddl": PROBLEM,
            "blocks/train/p2.pddl": PROBLEM,
            "blocks/validation/v.pddl": PROBLEM,
            "blocks/test-interpolation/i.pddl": PROBLEM,
            "blocks/test-extrapolation/e.pddl": PROBLEM,
            "plans/blocks/train/p2.plan": "(pick-up a)\n(stack a b)\n; cost = 2 (unit cost)\n",
            "plans/blocks/test-interpolation/i.plan": "(pick-up a)\n(stack a b)\n",
            "courier/domain.pddl": COURIER,
            "courier/train/c.pddl": COURIER_PROBLEM,
        },
    )
    suite = import_folder(folder, "published")
    assert list(suite.domains) == ["blocks", "courier"]
    assert splits(suite, "blocks") == {
        "train": ["p2", "p10"],
        "validation": ["v"],
        "interpolation": ["i"],
        "extrapolation": ["e"],
    }
    assert suite.domain("blocks").house == "blocksworld"
    assert suite.domain("courier").house == ""
    assert suite.domain("blocksworld").name == "blocks"
    taken = kept_plans(suite, "blocks", "train")
    assert [(plan.problem, plan.planner, len(plan.plan)) for plan in taken.values()] == [("p2", "imported", 2)]
    assert len(kept_plans(suite, "blocks", "interpolation")) == 1
    assert sgp.load_suite("published") == suite
    assert suite.likes("blocks", "train") == {suite.problems("blocks", "train")[1].sha256: "p2"}
    assert suite.likes("blocks", "validation") == {}
    assert suite.problems("blocks", "train")[0].problem_pddl == PROBLEM


def test_the_layout_of_the_ipc_learning_track(home, tmp_path):
    files = {
        f"{kind}/p0{number}.pddl": COURIER_PROBLEM
        for kind in ("training/easy", "testing/easy", "testing/medium", "testing/hard")
        for number in (1, 2)
    }
    folder = write(
        tmp_path / "ipc", {f"courier/{name}": text for name, text in files.items()} | {"courier/domain.pddl": COURIER}
    )
    suite = import_folder(folder, "ipc")
    assert splits(suite, "courier") == {
        "train": ["p01", "p02"],
        "testing-easy": ["p01", "p02"],
        "testing-hard": ["p01", "p02"],
        "testing-medium": ["p01", "p02"],
    }
    for name in ("medium", "testing/medium", "testing-medium"):
        assert len(suite.problems("courier", name)) == 2


def test_the_ipc_learning_track_is_taken_in_with_what_it_does_not_declare(home, tmp_path, caplog):
    """Each domain of the track that the house has, without its requirements; problems that use types all the same."""
    files = {}
    for domain in sgp.all_domains():
        text = domain.models.get("ipc-2023", domain.pddl)
        begin = text.index("(:requirements")
        end = text.index(")", begin) + 1
        files[f"{domain.name}/domain.pddl"] = text[:begin] + "(:requirements :strips)" + text[end:]
        size = next(size for size in range(4, 20) if domain.sizes.has(size))
        for number, place in enumerate(("training/easy", "testing/easy", "testing/medium", "testing/hard")):
            made = domain.generate_size(np.random.default_rng(number), size)
            if "ipc-2023" in domain.models:
                made = re.sub(r"(\(:objects[^)]*)", r"\1 - object", domain.translated(made, "ipc-2023"))
            files[f"{domain.name}/{place}/p1.pddl"] = made
    suite = import_folder(write(tmp_path / "ipc", files), "ipc")
    assert {name: len(splits(suite, name)) for name in suite.domains} == {each.name: 4 for each in sgp.all_domains()}
    assert all(suite.domain(name).house == name for name in suite.domains)
    assert suite.problems("blocksworld", "train")[0].problem_pddl == files["blocksworld/training/easy/p1.pddl"]
    noticed = [record.getMessage() for record in caplog.records]
    of_blocks = [remark for remark in noticed if "/blocksworld/" in remark]
    assert len(of_blocks) == 1
    assert re.search(r"p1\.pddl, line 3: :typing is used and not declared; .*; so in 4 problem files", of_blocks[0])
    assert any(re.search(r"ferry/domain\.pddl, line \d+: :typing is used", remark) for remark in noticed)


def test_a_problem_may_name_its_domain_otherwise(home, caplog):
    suite = import_folder(CASES / "domain-name-differs", "renamed")
    assert splits(suite, "domain-name-differs") == {"problems": ["problem"]}
    assert "the problem is of 'shelves', the domain file has 'shelves-v2'" in caplog.text


def test_a_plain_domain_file_with_problems_beside_it(home, tmp_path):
    folder = write(
        tmp_path / "mine",
        {
            "courier-domain.pddl": COURIER,
            "one.pddl": COURIER_PROBLEM,
            "two.pddl": COURIER_PROBLEM,
            "one.plan": "(load q1 v1 depot)\n(drive v1 depot shop)\n(unload q1 v1 shop)\n",
        },
    )
    suite = import_folder(folder, "mine")
    assert splits(suite, "mine") == {"problems": ["one", "two"]}
    assert len(kept_plans(suite, "mine", "problems")) == 1  # two problems of one text share their hash
    assert suite.largest == {"mine": 6}


def test_a_plan_that_does_not_fit_is_left_out_with_a_warning(home, tmp_path):
    folder = write(tmp_path / "mine", {"domain.pddl": BLOCKS, "p.pddl": PROBLEM, "p.plan": "(stack a b)\n"})
    with pytest.warns(UserWarning, match=r"p\.plan is left out: step 1 of 1: action \(stack a b\) is not applicable"):
        suite = import_folder(folder, "mine")
    assert kept_plans(suite, "mine", "problems") == {}


def test_a_domain_that_none_of_the_house_serves_trains_and_plans(home, tmp_path):
    folder = write(tmp_path / "mine", {"domain.pddl": COURIER, "train/c.pddl": COURIER_PROBLEM})
    import_folder(folder, "mine")
    run = sgp.train("state-centric", "mine", "mine", overrides={"boosting.rounds": "5"}, device="cpu")
    found = sgp.evaluate([run.folder], "mine", ["train"])
    coverage = [score for score in found.scores if score.metric == "coverage" and score.size is None]
    assert [(score.domain, score.value, score.count) for score in coverage] == [("mine", 1.0, 1)]


def test_nothing_is_kept_of_a_folder_with_a_broken_file(home, tmp_path):
    folder = write(
        tmp_path / "mine", {"domain.pddl": BLOCKS, "p1.pddl": PROBLEM, "p2.pddl": PROBLEM.replace("(on a b)", "(on a")}
    )
    with pytest.raises(PddlError, match=r"p2\.pddl"):
        import_folder(folder, "mine")
    assert "mine" not in sgp.suite_names()
    assert list((home / "suites").iterdir()) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "holds no domain file; expected domain.pddl"),
        ({"domain.pddl": BLOCKS}, "holds no problem files"),
        ({"one.pddl": BLOCKS, "two.pddl": BLOCKS, "p.pddl": PROBLEM}, "several domain files (one.pddl, two.pddl)"),
    ],
)
def test_folders_that_are_no_suite_are_refused(home, tmp_path, files, words):
    (tmp_path / "mine").mkdir()
    with pytest.raises(SuiteError, match=re.escape(words)):
        import_folder(write(tmp_path / "mine", files), "mine")


def test_names_are_checked_and_nothing_is_overwritten_unasked(home, tmp_path):
    folder = write(tmp_path / "mine", {"domain.pddl": BLOCKS, "p.pddl": PROBLEM})
    with pytest.raises(SuiteError, match="not usable"):
        import_folder(folder, "../outside")
    with pytest.raises(SuiteError, match="is no folder"):
        import_folder(tmp_path / "absent", "mine")
    with pytest.raises(SuiteError, match="a suite 'state-centric' exists"):
        import_folder(folder, "state-centric", overwrite=True)
    import_folder(folder, "mine")
    with pytest.raises(SuiteError, match="a suite 'mine' exists"):
        import_folder(folder, "mine")
    write(folder, {"q.pddl": PROBLEM})
    assert len(import_folder(folder, "mine", overwrite=True).problems("mine", "problems")) == 2


def test_an_import_finds_problems_that_are_equal_up_to_renaming(home, tmp_path):
    atoms = "(ontable a) (ontable b) (clear a) (clear b)"
    problems = {
        "p1": blocks_problem("a b", atoms, "(on a b)"),
        "p2": blocks_problem("x y", "(clear y) (ontable x) (clear x) (ontable y)", "(on y x)"),
        "p3": blocks_problem("a b", "(ontable a) (on b a) (clear b)", "(on a b)"),
        "p4": blocks_problem("a b c", f"{atoms} (ontable c) (clear c)", "(on a b)"),
        "p5": blocks_problem("a b", atoms, "(on b a)"),
        "p6": blocks_problem("b c a", f"{atoms} (ontable c) (clear c)", "(on a c)"),
    }
    files = {f"blocks/{name}.pddl": problem.problem_pddl for name, problem in problems.items()}
    suite = import_folder(write(tmp_path / "mine", {"blocks/domain.pddl": BLOCKS, **files}), "mine")
    likes = {entry.name: entry.like for entry in suite.domain("blocks").splits["problems"]}
    assert likes == {"p1": "", "p2": "p1", "p3": "", "p4": "", "p5": "p1", "p6": "p4"}
    assert sgp.load_suite("mine") == suite
