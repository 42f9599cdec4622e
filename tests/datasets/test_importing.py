import bz2
import gzip
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sgp
from sgp.datasets.experts import saved_plans
from sgp.datasets.importing import import_folder
from sgp.domains import all_domains
from sgp.errors import PddlError, SuiteError
from sgp.evaluation.scores import select
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
    published = {"train": ["p2", "p10"], "validation": ["v"], "interpolation": ["i"], "extrapolation": ["e"]}
    assert splits(suite, "blocks") == published
    assert [suite.domain(name).built_in for name in ("blocks", "courier")] == ["blocksworld", ""]
    assert suite.domain("blocksworld").name == "blocks"
    taken = saved_plans(suite, "blocks", "train")
    assert [(plan.problem, plan.planner, len(plan.plan)) for plan in taken.values()] == [("p2", "imported", 2)]
    assert len(saved_plans(suite, "blocks", "interpolation")) == 1
    assert sgp.load_suite("published") == suite
    assert suite.duplicates("blocks", "train") == {suite.problems("blocks", "train")[1].sha256: "p2"}
    assert suite.duplicates("blocks", "validation") == {}
    assert suite.problems("blocks", "train")[0].problem_pddl == PROBLEM


def test_the_ipc_learning_track_is_imported_with_what_it_does_not_declare(home, tmp_path):
    """Each built-in domain of the track without its requirements; some problems use types all the same."""
    files = {}
    for domain in all_domains():
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
    assert {name: len(splits(suite, name)) for name in suite.domains} == {each.name: 4 for each in all_domains()}
    assert all(suite.domain(name).built_in == name for name in suite.domains)
    assert suite.problems("blocksworld", "train")[0].problem_pddl == files["blocksworld/training/easy/p1.pddl"]


def test_a_problem_may_name_its_domain_otherwise(home, caplog):
    suite = import_folder(CASES / "domain-name-differs", "renamed")
    assert splits(suite, "domain-name-differs") == {"problems": ["problem"]}
    assert "the problem is of 'shelves', the domain file has 'shelves-v2'" in caplog.text


def test_a_plain_domain_file_with_problems_beside_it(home, tmp_path):
    files = {"courier-domain.pddl": COURIER, "one.pddl": COURIER_PROBLEM, "two.pddl": COURIER_PROBLEM}
    files["one.plan"] = "(load q1 v1 depot)\n(drive v1 depot shop)\n(unload q1 v1 shop)\n"
    suite = import_folder(write(tmp_path / "mine", files), "mine")
    assert splits(suite, "mine") == {"problems": ["one", "two"]}
    assert len(saved_plans(suite, "mine", "problems")) == 1  # two problems of one text share their hash
    assert suite.largest == {"mine": 6}


def test_a_plan_that_does_not_fit_is_left_out_with_a_warning(home, tmp_path):
    folder = write(tmp_path / "mine", {"domain.pddl": BLOCKS, "p.pddl": PROBLEM, "p.plan": "(stack a b)\n"})
    with pytest.warns(UserWarning, match=r"p\.plan is left out: step 1 of 1: action \(stack a b\) is not applicable"):
        suite = import_folder(folder, "mine")
    assert saved_plans(suite, "mine", "problems") == {}


def test_a_domain_that_no_built_in_domain_serves_trains_and_plans(home, tmp_path):
    folder = write(tmp_path / "mine", {"domain.pddl": COURIER, "train/c.pddl": COURIER_PROBLEM})
    import_folder(folder, "mine")
    run = sgp.train("state-centric", "mine", "mine", overrides={"boosting.rounds": "5"}, device="cpu")
    found = sgp.evaluate([run.folder], "mine", ["train"])
    coverage = select(found.scores, metric="coverage", size=None)
    assert [(score.domain, score.value, score.n) for score in coverage.itertuples()] == [("mine", 1.0, 1)]


def test_nothing_is_kept_of_a_folder_with_a_broken_file(home, tmp_path):
    broken = {"domain.pddl": BLOCKS, "p1.pddl": PROBLEM, "p2.pddl": PROBLEM.replace("(on a b)", "(on a")}
    folder = write(tmp_path / "mine", broken)
    with pytest.raises(PddlError, match=r"p2\.pddl"):
        import_folder(folder, "mine")
    assert "mine" not in sgp.list_suites()
    assert list((home / "suites").glob("[!.]*")) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "holds no domain file; expected domain.pddl"),
        ({"domain.pddl": BLOCKS}, "holds no problem files"),
        ({"1.pddl": BLOCKS, "2.pddl": f"{BLOCKS};", "p.pddl": PROBLEM}, "several domain files (1.pddl, 2.pddl)"),
        ({"README": "", "blocks/p.pddl": PROBLEM}, "holds no domain file"),
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


def layout(suite):
    return {name: splits(suite, name) for name in suite.domains}


def said(caplog):
    return [record.getMessage() for record in caplog.records if record.name.startswith("sgp.datasets")]


TEXTS = {"B": BLOCKS, "C": COURIER, "b": PROBLEM, "c": COURIER_PROBLEM}


INSTANCES = ("train/i1", "train/i2", "test/i1")
LAYOUTS = {  # files as place=text, and what is imported as domain/split=problems
    "ipc learning track": (
        "c/domain=C c/training/easy/p1=c c/testing/easy/p1=c c/testing/medium/p1=c c/testing/hard/p2=c",
        "c/train=p1 c/testing-easy=p1 c/testing-hard=p2 c/testing-medium=p1",
    ),
    "one name": ("a/x/domain=B a/x/p=b a/x/q=b b/x/domain=C b/x/p=c b/x/q=c", "x/problems=p,q b-x/problems=p,q"),
    "any depth": (
        "x/domain=B x/p=b more/y/domain=C more/y/train/c=c more/y/test/hard/c=c",
        "y/train=c y/test-hard=c x/problems=p",
    ),
    "a folder for each instance": (
        "x/i1/domain=B x/i1/problem=b x/i2/domain=B x/i2/problem=b x/i10/domain=B x/i10/problem=b",
        "x/problems=i1,i2,i10",
    ),
    "a domain file above them": ("x/domain=B x/i1/domain=B x/i1/p=b x/i2/domain=B x/i2/p=b", "x/problems=i1,i2"),
    "instances alone": ("i1/domain=B i1/p=b i2/domain=B i2/p=b", "tree/problems=i1,i2"),
    "a domain file beside them": ("domain=B i1/domain=B i1/p=b i2/domain=B i2/p=b", "tree/problems=i1,i2"),
    "instances below splits": (
        " ".join(f"{x}/{at}/domain={x.upper()} {x}/{at}/problem={x}" for x in "bc" for at in INSTANCES),
        "b/train=i1,i2 b/test=i1 c/train=i1,i2 c/test=i1",
    ),
    "folders of several problems stay domains": (
        "small/domain=B small/p=b small/q=b large/domain=B large/p=b large/q=b",
        "large/problems=p,q small/problems=p,q",
    ),
    "pddlgym": ("x=B x/p0=b x_test/p0=b x_test/p1=b y=C y/p0=c", "x/train=p0 x/test=p0,p1 y/problems=p0"),
    "a folder of domain files": (
        "x/domains/domain-1=B x/domains/domain-2=B x/instances/instance-1=b x/instances/instance-2=b",
        "x/instances=instance-1,instance-2",
    ),
    "of different texts": ("domains/d1=B domains/d2=C problems/p1=b problems/p2=c", "d1/problems=p1 d2/problems=p2"),
    "a domain file a problem": ("x/p01-domain=B x/p02-domain=B x/p01=b x/p02=b", "x/problems=p01,p02"),
    "several domain files": ("b=B c=C p=b q=c", "b/problems=p c/problems=q"),
}


@pytest.mark.parametrize(("files", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(home, tmp_path, files, expected):
    pairs = (word.split("=") for word in files.split())
    suite = import_folder(write(tmp_path / "tree", {f"{name}.pddl": TEXTS[text] for name, text in pairs}), "mine")
    found = [(domain, *each) for domain, names in layout(suite).items() for each in names.items()]
    assert sorted(f"{domain}/{split}={','.join(names)}" for domain, split, names in found) == sorted(expected.split())
    for domain, split, names in found:
        text = TEXTS["C"] if suite.domain(domain).built_in == "" else TEXTS["B"]
        assert suite.domain_pddl(domain) == text
        assert len(suite.problems(domain, split.replace("-", "/"))) == len(names)


def test_files_of_one_name_are_all_saved(home, tmp_path, caplog):
    files = {f"x/{place}/p01.pddl": PROBLEM for place in ("training", "training/easy", "train", "training/hard")}
    files |= {"x/domain.pddl": BLOCKS, "x/train/hard-p01.pddl": PROBLEM, "x/train/train-p01.pddl": PROBLEM}
    suite = import_folder(write(tmp_path / "tree", files), "col")
    names = splits(suite, "x")["train"]
    assert len(set(names)) == len(names) == 6
    assert len(suite.problems("x", "train")) == 6
    (line,) = said(caplog)
    assert re.search(r"under another name.*: \d \(", line)


@pytest.mark.parametrize("name", ["experts", "suite.toml", "domain.pddl", "baselines", "plans"])
def test_folders_may_be_named_like_files_of_the_store(home, tmp_path, name):
    files = {f"{name}/b.pddl": BLOCKS, f"{name}/{name}/p.pddl": PROBLEM, f"{name}/{name}/p.plan": "(stack a b)\n"}
    with pytest.warns(UserWarning, match="left out"):
        suite = import_folder(write(tmp_path / "tree", files), "odd")
    (domain,) = suite.domains
    (split,) = suite.domain(domain).splits
    assert suite.problems(domain, split)[0].problem_pddl == PROBLEM


def test_links_are_entered_and_circles_are_not(home, tmp_path, caplog):
    store = write(tmp_path, {"store/p1.pddl": PROBLEM, "d.pddl": BLOCKS}) / "store"
    tree = write(tmp_path / "tree", {"x/p2.pddl": PROBLEM})
    (tree / "x/domain.pddl").symlink_to("../../d.pddl")
    (tree / "x/training").symlink_to("../../store", target_is_directory=True)
    (tree / "x/p3.pddl").symlink_to("p2.pddl")
    (tree / "x/again").symlink_to("..", target_is_directory=True)
    (store / "self").symlink_to("self")
    (tree / "x/validation").symlink_to("../absent")
    suite = import_folder(tree, "sym")
    assert layout(suite) == {"x": {"train": ["p1"], "problems": ["p2", "p3"]}}
    circles, broken = sorted(said(caplog), reverse=True)
    assert "x/again" in circles
    assert "2 (x/training/self, x/validation)" in broken


def test_compressed_files_are_read(home, tmp_path):
    tree = write(tmp_path / "tree", {"x/p1.pddl": PROBLEM})
    (tree / "x/domain.pddl.gz").write_bytes(gzip.compress(BLOCKS.encode()))
    (tree / "x/p2.pddl.bz2").write_bytes(bz2.compress(b"; caf\xe9\r\n" + PROBLEM.encode()))
    (tree / "x/p2.plan.gz").write_bytes(gzip.compress(b"(pick-up a)\n(stack a b)\n"))
    (tree / "x/p1.PDDL.GZ").write_bytes(gzip.compress(PROBLEM.encode()))
    suite = import_folder(tree, "comp")
    assert sorted(splits(suite, "x")["problems"]) == ["p1", "p1-2", "p2"]
    assert [each.problem for each in saved_plans(suite, "x", "problems").values()] == ["p2"]
    assert {each.problem_pddl.rpartition("\ufffd\n")[2] for each in suite.problems("x", "problems")} == {PROBLEM}


@pytest.mark.parametrize(
    ("name", "content"), [("p.pddl.bz2", b"BZh9"), ("p.pddl.gz", b"no"), ("p.pddl.gz", gzip.compress(b"\xff", mtime=0))]
)
def test_a_damaged_compressed_file_is_named(home, tmp_path, name, content):
    tree = write(tmp_path / "tree", {"domain.pddl": BLOCKS, "q.pddl": PROBLEM})
    (tree / name).write_bytes(content)
    with pytest.raises(PddlError, match=rf"{name}: cannot be unpacked"):
        import_folder(tree, "comp")
    assert not (home / "suites").exists() or not list((home / "suites").iterdir())


def test_what_is_passed_over_is_reported_with_its_number(home, tmp_path, caplog):
    files = {"x/domain.pddl": BLOCKS, "x/p.pddl": PROBLEM, "x/.git/q.pddl": PROBLEM, "x/p.zip": "", "y/q.pddl": PROBLEM}
    files |= {"x/.ipynb_checkpoints/q.pddl": "(", "x/other.plan": "(stack a b)", "x/typed/other.pddl": COURIER}
    tree = write(tmp_path / "tree", files)
    (tree / "x/._p.pddl").write_bytes(b"\0\5\xff")
    assert layout(import_folder(tree, "mac")) == {"x": {"problems": ["p"]}}
    lines = said(caplog)
    assert len(lines) == 5
    hidden = "hidden files and folders: 3 (x/._p.pddl, x/.git, x/.ipynb_checkpoints)"
    for words in (hidden, "1 (x/p.zip)", "1 (x/other.plan)", "1 (x/typed/other.pddl)", "1 (y/q.pddl)"):
        assert words in "\n".join(lines)


ODD = ['a"b', "a'b", "a\\b", "ü é", "\U0001f600", "a.b", "a..b", "a\nb", "a\x7fb", "a\x01b", "#", "[x]", "p = 1", " "]
ODD += ["²", "1²2"]


@pytest.mark.parametrize("kind", ["problem", "split", "domain", "root"])
def test_names_of_any_characters_are_read_back(home, tmp_path, kind):
    tree = tmp_path / ('r"\n' if kind == "root" else "tree")
    for name in ODD:
        domain = name if kind == "domain" else "x"
        place = {"problem": f"{name}.pddl", "split": f"{name}/p.pddl"}.get(kind, "p.pddl")
        texts = {"domain.pddl": BLOCKS, place: PROBLEM, place.replace("p.pddl", "q.pddl"): PROBLEM}
        write(tree / domain, texts)
    suite = import_folder(tree, "odd")
    tomllib.loads((suite.folder / "suite.toml").read_text())
    found = [(domain, split, name) for domain in suite.domains for split, names in splits(suite, domain).items()
             for name in names]  # fmt: skip
    if kind != "root":
        assert {each[("domain", "split", "problem").index(kind)] for each in found} >= set(ODD)
    for domain, split, _ in found:
        assert all(each.problem_pddl == PROBLEM for each in suite.problems(domain, split))


def test_names_that_are_no_text_are_replaced(home, tmp_path):
    tree = write(tmp_path / "tree", {"domain.pddl": BLOCKS})
    for name in (b"a\xff.pddl", b"a\xfe.pddl"):
        with open(os.fsencode(tree) + b"/" + name, "w") as file:
            file.write(PROBLEM)
    suite = import_folder(tree, "bytes")
    assert splits(suite, "tree") == {"problems": ["a\ufffd", "a\ufffd-2"]}
    assert len(suite.problems("tree", "problems")) == 2
