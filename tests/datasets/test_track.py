"""Suite `track`: its sizes follow the rule, and problems without files are generated once, on request."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise

import pytest

from sgp.datasets.experts import saved_plans
from sgp.datasets.generation import generate_suite
from sgp.datasets.seeded import LEVELS, SeededSplits, track_sizes
from sgp.datasets.store import cache_folder
from sgp.datasets.suite import load_suite, read_suite, sha256_of
from sgp.domains import all_domains, get_domain
from sgp.errors import ConfigurationError, SuiteError
from sgp.experiments import listing
from sgp.planning.domain import Track
from sgp.planning.task import Task
from sgp.planning.validation import validate

SUITE = load_suite("track")
DOMAINS = [domain.name for domain in all_domains() if domain.track is not None]
WITHOUT_PLAN = {"floortile": 28, "sokoban": 2}
MADE = [("blocksworld", "easy"), ("sokoban", "easy"), ("childsnack", "medium"), ("transport", "hard")]


def made_files():
    return sorted(path for path in (cache_folder() / "suites").rglob("*") if path.is_file())


def constants(domain):
    return len(SUITE.domain_text(domain).constants)


def test_the_suite_has_the_ten_domains_of_the_learning_track():
    assert len(DOMAINS) == 10
    assert list(SUITE.domains) == DOMAINS
    assert SUITE.seeded.splits == LEVELS


def test_sizes_of_a_domain_that_has_all_are_the_rules():
    found = track_sizes(get_domain("blocksworld"))
    assert found["train"][::59] == [2, 20]
    assert found["easy"] == [22, 25, 28, 31, 34, 38, 42, 47, 52, 58]  # 20 to 20 x 24.4^(1/3)
    assert found["hard"][-1] == 488


@pytest.mark.slow
@pytest.mark.parametrize("name", DOMAINS)
def test_sizes_follow_the_rule_and_the_manifest_has_them(name):
    """Levels are geometric thirds between the largest problems of training and of tests."""
    domain, rule = get_domain(name), track_sizes(get_domain(name))
    least, most = domain.track.train
    train, *levels = rule.values()
    assert (len(train), train[0], train[-1]) == (60, domain.tracked.nearest(least), most)
    assert sorted(train) == train
    assert {after - before for before, after in pairwise(train)} <= {0, 1, 2, 4}, "4 where a domain has few sizes"
    tests = [size for level in levels for size in level]
    assert [len(level) for level in levels] == [10, 10, 10]
    assert sorted(set(tests)) == tests
    assert min(tests) > most
    for place, size in enumerate(tests, start=1):
        assert abs(size - most * (domain.track.test[1] / most) ** (place / 30)) <= 0.5
    suite = SUITE.domain(name).splits
    splits = {split: [each.size - constants(name) for each in found] for split, found in suite.items()}
    assert {split: splits[split] for split in LEVELS} == {split: rule[split] for split in LEVELS}
    numbers = [int(each.name[1:]) for each in suite["train"]]  # others equal one of their size
    assert splits["train"] == [rule["train"][number - 1] for number in numbers]
    assert len(numbers) >= 55
    assert not any(each.like for found in suite.values() for each in found)


@pytest.mark.slow
def test_an_unreachable_size_is_replaced_by_the_nearest():
    childsnack = get_domain("childsnack")
    assert childsnack.track.train[0] == 7
    assert childsnack.sizes.nearest(7) == track_sizes(childsnack)["train"][0] == 8
    assert get_domain("gripper").sizes.nearest(10) == 10


@pytest.mark.parametrize(("domain", "level"), MADE)
def test_a_problem_without_file_is_made_on_first_use_and_once(domain, level, home, monkeypatch):
    suite = load_suite("track")
    problems = suite.problems(domain, level)
    entries = suite.domain(domain).splits[level]
    assert [sha256_of(each.problem_pddl) for each in problems] == [entry.sha256 for entry in entries]
    assert Task(problems[0]).size == entries[0].size
    assert [str(path) for path in made_files()] == [each.problem_source for each in problems], "and nothing else is"
    monkeypatch.setattr(SeededSplits, "draw", lambda *_: pytest.fail("drawn again"))
    assert suite.problems(domain, level) == load_suite("track").problems(domain, level) == problems


def test_reading_what_has_files_makes_nothing(home):
    suite = load_suite("track")
    assert suite.largest["spanner"] == 833
    assert len(suite.problems("spanner", "train")) == 58
    assert suite.likes("spanner", "train") == {}
    rows = list(zip(*(column.cells for column in listing.suites().columns), strict=True))
    assert [row[1] for row in rows if row[0] == "track"] == DOMAINS
    assert ("track", "ferry", "ferry", "train 59, easy 10, medium 10, hard 10") in rows
    assert not made_files()


def test_what_was_made_and_then_changed_is_made_again(home):
    problem, *_ = load_suite("track").problems("spanner", "easy")
    file = made_files()[0]
    file.write_bytes(b"\xff")
    assert load_suite("track").problems("spanner", "easy")[0] == problem
    assert file.read_text() == problem.problem_pddl


def test_another_problem_than_the_listed_one_is_refused(home, tmp_path):
    shutil.copytree(SUITE.folder, tmp_path / "copy")
    manifest = tmp_path / "copy" / "suite.toml"
    listed = SUITE.domain("spanner").splits["easy"][3].sha256
    numpy = SUITE.seeded.numpy
    manifest.write_text(manifest.read_text().replace(listed, 64 * "0").replace(f'"{numpy}"', '"1.99"'))
    copy = read_suite(tmp_path / "copy", tmp_path)
    with pytest.raises(SuiteError) as refused:
        copy.problems("spanner", "easy")
    said = str(refused.value)
    assert said.startswith("p04 of spanner easy, drawn again by numpy ")
    assert "is not the problem that suite track lists, which numpy 1.99 drew; install that version" in said
    assert len(made_files()) == 3, "those before it"


@pytest.mark.parametrize(
    ("good", "bad"), [('suite = "track"', "suite = 3"), ('splits = ["easy"', "splits = [3"), ("numpy = ", "other = ")]
)
def test_a_manifest_that_does_not_tell_what_was_drawn_is_refused(good, bad, tmp_path):
    (tmp_path / "suite.toml").write_text((SUITE.folder / "suite.toml").read_text().replace(good, bad))
    with pytest.raises(SuiteError, match=r"suite\.toml cannot be read"):
        read_suite(tmp_path, tmp_path)


def test_a_size_that_the_domain_has_no_longer_is_refused():
    with pytest.raises(SuiteError, match="transport has no problem of 2 objects, which suite track lists"):
        SUITE.seeded.draw(get_domain("transport"), "hard", 1, 2)


def test_problems_without_files_have_sizes_of_their_own(tmp_path, monkeypatch):
    blocksworld = get_domain("blocksworld")
    narrow = replace(blocksworld, track=replace(blocksworld.track, train=(2, 6), test=(5, 12)))
    monkeypatch.setattr("sgp.datasets.generation.all_domains", lambda: [narrow])
    with pytest.raises(SuiteError, match="expected different sizes above 6, that of the largest with a file"):
        generate_suite("track", tmp_path / "track")


def test_a_track_whose_tests_are_no_larger_is_refused():
    with pytest.raises(ConfigurationError, match="training has 2 to 20 objects and tests have 20 at most"):
        Track(train=(2, 20), validation=(20, 20), test=(2, 20))


@pytest.mark.parametrize("name", DOMAINS)
def test_training_problems_have_the_plans_that_were_found_for_them(name):
    problems, plans = SUITE.problems(name, "train"), saved_plans(SUITE, name, "train")
    assert set(plans) == {problem.sha256 for problem in problems}
    solved = [problem for problem in problems if plans[problem.sha256].plan is not None]
    assert len(problems) - len(solved) == WITHOUT_PLAN.get(name, 0), "and the page says so"
    for problem in solved[::12]:
        assert validate(problem, plans[problem.sha256].plan).valid
