import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import groupby, pairwise, product
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp.datasets.experts import saved_plans
from sgp.datasets.generation import SUITE_SEED, canonical_form, form_of, generate_problems, generate_suite
from sgp.datasets.store import cache_folder
from sgp.datasets.suite import LEVELS, SeededSplits, huge_sizes, load_suite, read_suite, sha256_of, track_sizes
from sgp.datasets.training_data import Demonstrations, learning_texts
from sgp.domains import all_domains, get_domain
from sgp.domains.domain import Track
from sgp.errors import ConfigurationError, SuiteError
from sgp.experiments import listing
from sgp.planning.pddl import Problem, read_domain, read_problem
from sgp.planning.task import Task
from sgp.planning.validation import validate
from tests.conftest import blocks_problem
from tests.sampling import connected

SUITE = sgp.load_suite("state-centric")
BUNDLED = ("harder", "huge", "scaling", "selection", "state-centric", "track")
EVERY = list(dict.fromkeys(domain for name in BUNDLED for domain in sgp.load_suite(name).domains))
DOMAINS = ["blocksworld", "gripper", "logistics", "visitall"]

TRACK, HUGE = sgp.load_suite("track"), sgp.load_suite("huge")
TRACKED = [domain.name for domain in all_domains() if domain.track is not None]
WITHOUT_PLAN = {"floortile": 28, "sokoban": 2}

# state-centric, Table 5, and the least, middle and greatest number of objects behind it.
COUNTS = {
    "blocksworld": {"train": 9, "validation": 3, "interpolation": 3, "extrapolation": 20},
    "gripper": {"train": 4, "validation": 2, "interpolation": 3, "extrapolation": 16},
    "logistics": {"train": 12, "validation": 4, "interpolation": 9, "extrapolation": 18},
    "visitall": {"train": 207, "validation": 24, "interpolation": 37, "extrapolation": 219},
}
SIZES = {
    ("blocksworld", "train"): (4, 6, 7),
    ("blocksworld", "extrapolation"): (9, 12, 17),
    ("gripper", "train"): (6, 10, 12),
    ("gripper", "extrapolation"): (16, 32, 46),
    ("logistics", "train"): (13, 15, 15),
    ("logistics", "extrapolation"): (22, 29, 37),
    ("visitall", "train"): (1, 11, 16),
    ("visitall", "extrapolation"): (21, 48, 121),
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_bundled_suite_has_the_counts_and_sizes_of_the_paper(domain):
    found = SUITE.domain(domain)
    assert {split: len(entries) for split, entries in found.splits.items()} == COUNTS[domain]
    for split, entries in found.splits.items():
        sizes = sorted(entry.size for entry in entries)
        if (domain, split) in SIZES:
            assert (sizes[0], sizes[len(sizes) // 2], sizes[-1]) == SIZES[domain, split]


def equal_problems(domain):
    """Return bundled problems that are equal but for the names of objects, as lists of (suite, split, problem, like).

    Of splits without files, only those with a number of objects that another problem has, and at most 200 objects of
    suite huge: forms of larger problems take minutes.
    """
    suites = [suite for suite in map(sgp.load_suite, BUNDLED) if domain in suite.domains]
    splits = [(suite, split, entries) for suite in suites for split, entries in suite.domains[domain].splits.items()]
    counts = Counter(size for *_, entries in splits for size in {entry.size for entry in entries})
    found = defaultdict(list)
    for suite, split, entries in splits:
        has_files = suite.seeded is None or split not in suite.seeded.splits
        if suite.name == "huge" and split not in ("50-objects", "200-objects"):
            continue
        if has_files or any(counts[entry.size] > 1 for entry in entries):
            for problem, entry in zip(suite.problems(domain, split), entries, strict=True):
                form = form_of(read_domain(problem.domain_pddl), read_problem(problem.problem_pddl))
                found[form].append((suite.name, split, entry.name, entry.like))
    return found.values()


# Suite scaling's problems for training and selection predate streams by suite, and its measurements depend on them; no
# planner trained on them is measured on another suite. They include the smallest training problems of suite track where
# there are few; test problems are larger than all of these.
TWINS = {
    "gripper": {"scaling-state-centric": 7},
    "visitall": {"scaling-state-centric": 13},
    "childsnack": {"scaling-track": 4},
    "ferry": {"scaling-track": 1},
    "transport": {"scaling-track": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("domain", EVERY)
def test_no_two_bundled_problems_are_equal_up_to_renaming_across_splits_and_suites(domain, home):
    twins = Counter()
    for equal in equal_problems(domain):
        for _, of_one_suite in groupby(equal, key=itemgetter(0)):
            (_, split, name, like), *others = of_one_suite
            assert like == "", "as the manifest says"
            assert {(each[1], each[3]) for each in others} <= {(split, name)}
        suites = sorted({suite for suite, *_ in equal})
        if len(suites) > 1:
            twins["-".join(suites)] += 1
            assert {split for suite, split, *_ in equal if suite == "track"} <= {"train"}
    assert twins == TWINS.get(domain, {})


def test_suites_have_as_many_distinct_problems_as_told():
    def distinct(suite, domain, split):
        return sum(not entry.like for entry in sgp.load_suite(suite).domains[domain].splits[split])

    for domain, counts in COUNTS.items():
        fewer = {"train": 47, "validation": 11, "interpolation": 16, "extrapolation": 131}
        for split, count in counts.items():
            assert distinct("state-centric", domain, split) == (fewer[split] if domain == "visitall" else count)
    for domain, found in sgp.load_suite("harder").domains.items():
        assert [distinct("harder", domain, split) for split in found.splits] == [10] * len(found.splits)
    assert distinct("selection", "gripper", "50-balls") == 1


def test_streams_of_two_suites_differ(tmp_path, monkeypatch):
    logistics = get_domain("logistics")
    arguments = {"cities": 2, "locations": 2, "airplanes": 1, "packages": 4}
    mine = replace(logistics, splits={name: {"row": [arguments] * 2} for name in ("one", "two", "selection")})
    monkeypatch.setattr("sgp.datasets.generation.all_domains", lambda: [mine])
    made = {name: generate_suite(name, tmp_path / name).domains["logistics"] for name in ("one", "two", "selection")}
    assert made["one"] == generate_suite("one", tmp_path / "again").domains["logistics"]
    hashes = [entry.sha256 for suite in made.values() for entry in suite.splits["row"]]
    assert len(set(hashes)) == 6


@pytest.mark.parametrize(
    ("name", "domain", "split"),
    [*product(["state-centric"], DOMAINS, ["train", "validation", "interpolation"])]
    + [("track", domain, "train") for domain in TRACKED],
)
def test_bundled_expert_plans_are_complete_and_val_accepts_them(name, domain, split):
    suite = sgp.load_suite(name)
    problems, plans = suite.problems(domain, split), saved_plans(suite, domain, split)
    assert set(plans) == {problem.sha256 for problem in problems}
    solved = [problem for problem in problems if plans[problem.sha256].plan is not None]
    assert len(problems) - len(solved) == (WITHOUT_PLAN.get(domain, 0) if name == "track" else 0)
    for problem in solved[:: max(1, len(solved) // 12)]:
        assert validate(problem, plans[problem.sha256].plan).valid
        assert name == "track" or plans[problem.sha256].configuration == "astar-lmcut 60s"


@pytest.mark.slow
def test_the_bundled_suite_is_what_its_seed_generates(tmp_path):
    assert SUITE.seed == SUITE_SEED
    again = generate_suite("state-centric", tmp_path / "state-centric")
    assert again.domains == SUITE.domains  # names, sizes and hashes of all 606 problems
    assert (tmp_path / "state-centric" / "suite.toml").read_text() == (SUITE.folder / "suite.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["harder", "selection", "track"])
def test_the_larger_suites_are_what_their_seed_generates(name, tmp_path, monkeypatch):
    small = [domain for domain in all_domains() if domain.name != "visitall"]  # whose grids take a minute to compare
    monkeypatch.setattr("sgp.datasets.generation.all_domains", lambda: small)
    monkeypatch.setattr("sgp.datasets.generation._by_seed", lambda *_: {})
    again, bundled = generate_suite(name, tmp_path / name), sgp.load_suite(name)
    assert again.seed == bundled.seed == SUITE_SEED
    for domain, found in again.domains.items():
        assert found.splits == {split: bundled.domains[domain].splits[split] for split in found.splits}
        without_files = again.seeded.splits if again.seeded else ()
        assert {*found.splits, *without_files} == set(bundled.domains[domain].splits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "domain"),
    [(TRACK, domain) for domain in TRACKED] + [(HUGE, domain.name) for domain in all_domains()],
    ids=lambda value: getattr(value, "name", value),
)
def test_problems_without_files_are_what_their_seed_generates(suite, domain):
    """Each problem has a random stream of its own, so that two of each split stand for the others."""
    for split, entries in suite.domain(domain).splits.items():
        for place, entry in [*enumerate(entries, start=1)][:: len(entries) // 2 + 1]:
            if split in suite.seeded.splits:
                text = suite.seeded.draw(get_domain(domain), split, place, entry.size - constants(domain))
                assert sha256_of(text) == entry.sha256


def test_suites_without_files_have_all_domains_that_name_their_sizes():
    assert list(TRACK.domains) == TRACKED
    assert list(HUGE.domains) == [domain.name for domain in all_domains()]
    for name, domain in HUGE.domains.items():
        sizes = {split: {entry.size - constants(name) for entry in found} for split, found in domain.splits.items()}
        assert sizes == {split: set(found) for split, found in huge_sizes(get_domain(name)).items()}
        limits = [int(split.removesuffix("-objects")) for split in sizes]
        assert limits == [50, 200, 1_000, 5_000, 20_000, 50_000][: 3 if name == "rovers" else 6]
        for limit, found in zip(limits, sizes.values(), strict=True):
            assert limit - 12 < min(found) <= max(found) <= limit, "at most one step of the proportions smaller"


def test_grids_with_holes_stay_connected():
    visitall, rng = get_domain("visitall"), np.random.default_rng(3)
    task = Task(Problem("holes", visitall.models["untyped"], visitall.generate(rng, width=4, height=4, holes=9)))
    assert task.size == 7
    edges = {atom.objects for atom in task.static_atoms if atom.predicate == "connected"}
    assert connected(task.objects[0].name, edges) == {thing.name for thing in task.objects}
    with pytest.raises(ConfigurationError):
        visitall.generate(rng, width=2, height=2, holes=4)


def test_canonical_forms_of_different_problems_differ():
    init = "(ontable a) (ontable b) (on c b) (clear a) (clear c)"
    original = canonical_form(Task(blocks_problem("a b c", init, "(on a b)")))
    for other in (
        blocks_problem("a b c", init, "(on b a)"),
        blocks_problem("a b c", init, "(on a b) (on b c)"),
        blocks_problem("a b c", "(ontable a) (ontable b) (on c a) (clear b) (clear c)", "(on a b)"),
        blocks_problem("a b c d", init, "(on a b)"),
    ):
        assert canonical_form(Task(other)) != original


@pytest.mark.parametrize("seed", range(8))
def test_a_renamed_and_shuffled_problem_has_the_same_canonical_form(seed):
    rng = np.random.default_rng(seed)
    domain = get_domain("blocksworld")
    problem = Problem("original", domain.models["untyped"], domain.generate(rng, blocks=9))
    task = Task(problem)
    names = dict(zip((thing.name for thing in task.objects), rng.permutation(list("pqrstuvwx")), strict=True))
    facts = [atom for atom in task.atoms(task.init) if atom.objects]
    atoms = [f"({atom.predicate} {' '.join(names[each] for each in atom.objects)})" for atom in facts]
    goal = [f"(on {names[literal.atom.objects[0]]} {names[literal.atom.objects[1]]})" for literal in task.goal]
    rng.shuffle(atoms)
    renamed = Task(blocks_problem(" ".join(sorted(names.values())), " ".join(atoms), " ".join(goal)))
    assert canonical_form(renamed) == canonical_form(task)


def test_generated_problems_have_their_size_and_seed(tmp_path):
    paths = generate_problems(get_domain("logistics"), 17, 3, 5, tmp_path / "one")
    again = generate_problems(get_domain("logistics"), 17, 3, 5, tmp_path / "two")
    assert [path.read_text() for path in paths] == [path.read_text() for path in again]
    assert len({path.read_text() for path in paths}) == 3
    for path in paths:
        assert Task(Problem.from_files(path.parent / "domain.pddl", path)).size == 17


def test_nothing_is_written_for_a_size_without_problems(tmp_path):
    with pytest.raises(ConfigurationError, match="gripper has no problem of exactly 3 objects"):
        generate_problems(get_domain("gripper"), 3, 1, 0, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_every_domain_of_a_suite_stands_in_its_domain_file():
    assert {domain.name for domain in all_domains() if "state-centric" in domain.splits} == set(SUITE.domains)
    with pytest.raises(SuiteError, match="no domain describes a suite 'unheard-of'"):
        generate_suite("unheard-of", SUITE.folder / "nowhere")


def test_names_that_do_not_exist_are_answered_with_those_that_do():
    for ask, words in (
        (lambda: sgp.load_suite("nope"), "unknown suite 'nope'; expected one of acpbench, harder, huge, scaling, sele"),
        (lambda: SUITE.domain("sokoban"), "no domain 'sokoban'; expected one of blocksworld, gripper, logistics, vis"),
        (lambda: SUITE.problems("gripper", "hard"), "no split 'hard'; expected one of train, validation, interpol"),
    ):
        with pytest.raises(SuiteError, match=words):
            ask()
    assert SUITE.domain("blocks").name == "blocksworld"


def test_a_changed_or_broken_suite_is_refused(tmp_path):
    shutil.copytree(SUITE.folder, tmp_path / "copy")
    early, late = (read_suite(tmp_path / "copy", tmp_path) for _ in range(2))
    listed = early.problems("gripper", "train")
    file = tmp_path / "copy" / "gripper" / "train" / "p1.pddl"
    file.write_text(file.read_text().replace("rooma", "room-a"))
    assert early.problems("gripper", "train") == listed, "what was checked stays what the manifest lists"
    for _ in range(2):
        with pytest.raises(SuiteError, match=r"p1\.pddl is not the file that .* lists; restore it"):
            late.problems("gripper", "train")
    (tmp_path / "copy" / "suite.toml").write_text("origin = 3\n[domains")
    with pytest.raises(SuiteError, match="cannot be read"):
        read_suite(tmp_path / "copy", tmp_path)


def test_a_training_reads_each_file_once(monkeypatch):
    suite = sgp.load_suite("state-centric")
    reads, opened = Counter(), Path.open

    def counted(path, *arguments, **options):
        reads[path] += 1
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", counted)
    (texts,) = learning_texts(Demonstrations, suite, ["gripper"]).parts
    folder = suite.folder / "gripper"
    files = [Path(each.problem.problem_source) for each in (*texts.train, *texts.validation)]
    assert len(files) == 6
    texts_read = {path: count for path, count in reads.items() if path.suffix == ".pddl"}
    assert texts_read == dict.fromkeys([folder / "domain.pddl", *files], 1)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b"origin", b"\xff\xfe"),
        (b"size = ", b"size = 3.5 #"),
        (b'built_in = "blocksworld"', b"built_in = 3"),
        (b"sha256 = ", b"sha256 = 3 #"),
        (b"[domains", b"[[domains"),
        (b"seed = ", b"seed = true #"),
    ],
)
def test_one_damaged_suite_does_not_hide_the_others(good, bad, home):
    folder = home / "suites" / "mine"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_bytes((SUITE.folder / "suite.toml").read_bytes().replace(good, bad))
    with pytest.raises(SuiteError, match=r"mine/suite\.toml cannot be read .*; import the suite again"):
        load_suite("mine")
    rows = list(zip(*(column.cells for column in listing.suites().columns), strict=True))
    assert [row[1] for row in rows if row[0] == "mine"] == ["damaged"]
    assert len({row[0] for row in rows}) > 1


def test_a_manifest_with_the_earlier_names_of_fields_is_read(tmp_path):
    folder = tmp_path / "track"
    folder.mkdir()
    now = load_suite("track")
    text = (now.folder / "suite.toml").read_text()
    (folder / "suite.toml").write_text(text.replace("built_in = ", "house = ").replace("seeded_splits", "kept_by_seed"))
    before = read_suite(folder, tmp_path)
    assert (before.domains, before.seeded) == (now.domains, now.seeded)


def test_an_imported_domain_is_found_by_the_name_that_its_pddl_declares(home, tmp_path):
    case = Path(__file__).parents[1] / "cases" / "advice-domain-name"
    for folder in ("tins", "more-tins"):
        shutil.copytree(case, tmp_path / "both" / folder)
    with (tmp_path / "both" / "tins" / "domain.pddl").open("a") as file:
        file.write("; another text, so that the two are not one domain\n")
    shutil.copytree(case, tmp_path / "one")
    suite = sgp.import_folder(tmp_path / "one", "one")
    assert suite.domain("Shelves") == suite.domain("one")
    assert suite.domain_text("shelves") == suite.domain_text("one")
    assert [each.name for each in suite.problems("shelves", "problems")] == ["problem"]
    with pytest.raises(SuiteError, match="no domain 'shelf'; expected one of one"):
        suite.domain("shelf")
    with pytest.raises(SuiteError, match="several domains with a PDDL of 'shelves'; expected one of more-tins, tins"):
        sgp.import_folder(tmp_path / "both", "both").domain("shelves")


MADE = [("blocksworld", "easy"), ("sokoban", "easy"), ("childsnack", "medium"), ("transport", "hard")]


def made_files():
    return sorted(path for path in (cache_folder() / "suites").rglob("*") if path.is_file())


def constants(domain):
    return len(HUGE.domain_text(domain).constants)


def test_sizes_of_a_domain_that_has_all_are_the_rules():
    found = track_sizes(get_domain("blocksworld"))
    assert found["train"][::59] == [2, 20]
    assert found["easy"] == [22, 25, 28, 31, 34, 38, 42, 47, 52, 58]  # 20 to 20 x 24.4^(1/3)
    assert found["hard"][-1] == 488


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACKED)
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
    suite = TRACK.domain(name).splits
    splits = {split: [each.size - constants(name) for each in found] for split, found in suite.items()}
    assert {split: splits[split] for split in LEVELS} == {split: rule[split] for split in LEVELS}
    numbers = [int(each.name[1:]) for each in suite["train"]]  # others equal one of their size
    assert splits["train"] == [rule["train"][number - 1] for number in numbers]
    assert len(numbers) >= 55
    assert not any(each.like for found in suite.values() for each in found)


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
    assert (suite.largest["spanner"], len(suite.problems("spanner", "train"))) == (833, 58)
    assert suite.duplicates("spanner", "train") == {}
    rows = list(zip(*(column.cells for column in listing.suites().columns), strict=True))
    assert [row[1] for row in rows if row[0] == "track"] == TRACKED
    assert ("track", "ferry", "ferry", "train 59, easy 10, medium 10, hard 10") in rows
    assert not made_files()


def test_what_was_made_and_then_changed_is_made_again(home):
    problem, *_ = load_suite("track").problems("spanner", "easy")
    file = made_files()[0]
    file.write_bytes(b"\xff")
    assert load_suite("track").problems("spanner", "easy")[0] == problem
    assert file.read_text() == problem.problem_pddl


def test_another_problem_than_the_listed_one_is_refused(home, tmp_path):
    shutil.copytree(TRACK.folder, tmp_path / "copy")
    manifest = tmp_path / "copy" / "suite.toml"
    listed = TRACK.domain("spanner").splits["easy"][3].sha256
    numpy = TRACK.seeded.numpy
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
    (tmp_path / "suite.toml").write_text((TRACK.folder / "suite.toml").read_text().replace(good, bad))
    with pytest.raises(SuiteError, match=r"suite\.toml cannot be read"):
        read_suite(tmp_path, tmp_path)


def test_problems_without_files_have_sizes_of_their_own_that_the_domain_has(tmp_path, monkeypatch):
    with pytest.raises(SuiteError, match="transport has no problem of 2 objects, which suite track lists"):
        TRACK.seeded.draw(get_domain("transport"), "hard", 1, 2)
    with pytest.raises(ConfigurationError, match="training has 2 to 20 objects and tests have 20 at most"):
        Track(train=(2, 20), validation=(20, 20), test=(2, 20))
    blocksworld = get_domain("blocksworld")
    narrow = replace(blocksworld, track=replace(blocksworld.track, train=(2, 6), test=(5, 12)))
    monkeypatch.setattr("sgp.datasets.generation.all_domains", lambda: [narrow])
    with pytest.raises(SuiteError, match="expected different sizes above 6, that of the largest with a file"):
        generate_suite("track", tmp_path / "track")
