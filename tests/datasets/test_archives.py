import json
import random
import zipfile

import pytest

import sgp
from sgp.api import export, import_run
from sgp.datasets import runs
from sgp.datasets.runs import open_run
from sgp.errors import InputError, StoreError


@pytest.fixture
def archive(quick_run, tmp_path):
    file = tmp_path / "run.zip"
    export(quick_run("state-centric", "gripper").folder, file)
    return file


def rewritten(file, target, change):
    """Return a copy of an archive with changed members."""
    with zipfile.ZipFile(file) as source:
        members = {name: source.read(name) for name in source.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
    return target


@pytest.mark.parametrize("variant", ["wl-xgboost-delta", "wl-lstm-state", "fsf-lstm-delta"])
def test_an_exported_run_plans_alike_elsewhere(variant, quick_run, tmp_path, monkeypatch):
    run = quick_run("state-centric", "gripper", variant)
    problem = sgp.load_suite("state-centric").problems("gripper", "train")[0]
    expected = sgp.solve(problem, run.folder, sgp.Limit(actions=10))
    export(run.folder, tmp_path / "run.zip")
    monkeypatch.setenv("SGP_HOME", str(tmp_path / "elsewhere"))
    taken = import_run(tmp_path / "run.zip")
    assert taken.folder == tmp_path / "elsewhere" / run.folder.relative_to(run.folder.parents[4])
    assert taken.sha256 == run.sha256
    found = sgp.solve(problem, taken.folder, sgp.Limit(actions=10))
    assert (found.plan, found.outcome) == (expected.plan, expected.outcome)
    assert (taken.folder / "card.md").read_text() == (run.folder / "card.md").read_text()
    assert import_run(tmp_path / "run.zip").folder == taken.folder  # the same run once more


def test_an_archive_holds_no_other_files(quick_run, archive):
    (quick_run("state-centric", "gripper").folder / "secret.txt").write_text("x")
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert {name for name in names if name[:7] != "scores-"} == {"run.json", "card.md", "encoder.json", "model.ubj"}


def place(**changed):
    def change(members):
        record = json.loads(members["run.json"])
        record.update(changed)
        members["run.json"] = json.dumps(record).encode()

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update({"../outside": b"x"}), "holds '../outside', a path that no exported run has; it was not u"),
        (lambda m: m.update({"/etc/passwd": b"x"}), "holds '/etc/passwd', a path that"),
        (lambda m: m.update({"sub/file": b"x"}), "holds 'sub/file', a path that"),
        (lambda m: m.update({"n" * 300: b"x"}), "holds 'nnn.*, a path that no exported run has"),
        (lambda m: m.update({"more.bin": b"x"}), "holds more.bin, which its run.json does not list; export the run ag"),
        (place(files={}), "which its run.json does not list"),
        (lambda m: m.update({"scores-x.csv": bytes(33 * 2**20)}), "holds scores-x.csv of 34,603,008 bytes; expected"),
        (lambda m: m.pop("run.json"), "holds no run.json; expected an archive that 'sgp export' wrote"),
        (lambda m: m.pop("model.ubj"), "holds no run that can be used .*model.ubj is missing"),
        (lambda m: m.update({"model.ubj": b"x"}), r"holds no run that can be used .*model.ubj was cut or changed"),
        (lambda m: m.update({"run.json": b"[]"}), "is not of format 2"),
        (place(format=1), "is not of format 2; train the run again"),
        (lambda m: m.update({"run.json": b"{"}), "holds no run that can be used"),
        (place(method="../../x"), "names the place '../../x/.*' for its run, which is none in the store"),
        (place(domain=".."), "for its run, which is none in the store"),
        (place(method="unheard-of"), "unknown method 'unheard-of'"),
        (place(method="/etc"), "which is none in the store|holds no run that can be used"),
        (place(seed="98/x"), "has no seed that is of kind int"),
        (place(seed=-1), "seed is -1; expected a whole number, 0 to 4294967295"),
        (place(files=[]), "has no files that is of kind dict"),
        (place(files=dict.fromkeys(("encoder.json", "model.ubj", "../x"), "0")), "lists '../x', which is no plain"),
        (place(data={}), "lacks sha256 of its data"),
        (place(training={"beam": "x"}), "holds a record that state-centric cannot load"),
    ],
)
def test_damaged_and_hostile_archives_are_refused_in_a_sentence(archive, change, words, tmp_path, home):
    with pytest.raises((InputError, StoreError), match=words):
        import_run(rewritten(archive, tmp_path / "bad.zip", change))
    assert not (tmp_path / "outside").exists()
    assert not [path for path in home.rglob("*") if path.is_file() and path.parent.name != ".locks"]
    assert not list(home.glob(".import.*"))


def test_a_foreign_or_cut_file_is_refused(archive, tmp_path, home):
    (tmp_path / "text.zip").write_text("no archive")
    (tmp_path / "cut.zip").write_bytes(archive.read_bytes()[:-200])
    flipped = bytearray(archive.read_bytes())
    flipped[len(flipped) // 2] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(flipped)
    for name in ("text.zip", "cut.zip", "flipped.zip"):
        with pytest.raises(InputError, match=rf"{name} is no complete ZIP archive \(.*\); export the run again"):
            import_run(tmp_path / name)
    with pytest.raises(InputError, match=r"nowhere\.zip is no file; give the archive that 'sgp export' wrote"):
        import_run(tmp_path / "nowhere.zip")


def test_any_flipped_byte_gives_the_same_run_or_a_sentence(archive, tmp_path, home):
    whole = archive.read_bytes()
    rng = random.Random(5)
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.sample(range(len(whole)), 3):
            damaged[place] ^= 1 << rng.randrange(8)
        (tmp_path / "damaged.zip").write_bytes(damaged)
        try:
            import_run(tmp_path / "damaged.zip")
        except (InputError, StoreError):
            refused += 1
    assert refused > 40


def test_an_archive_that_unpacks_to_too_much_is_refused(archive, home, monkeypatch):
    monkeypatch.setattr(runs, "_LARGEST", 1000)
    with pytest.raises(InputError, match="bytes; expected at most 1,000"):
        import_run(archive)


def test_a_run_of_other_vectors_is_refused_and_another_run_is_not_replaced(archive, tmp_path, home):
    def check(members):
        record = json.loads(members["run.json"])
        record["check"]["vectors"]["prediction"][0] += 1
        members["run.json"] = json.dumps(record).encode()

    with pytest.raises(StoreError, match="gives another prediction than when it was trained"):
        import_run(rewritten(archive, tmp_path / "other.zip", check))
    first = import_run(archive)
    later = rewritten(archive, tmp_path / "later.zip", place(trained="2030-01-01T00:00:00+00:00"))
    with pytest.raises(InputError, match="holds another run; replace it with '--replace'"):
        import_run(later)
    assert open_run(first.folder).sha256 == first.sha256
    assert import_run(later, replace=True).record["trained"].startswith("2030")


def test_a_card_tells_data_sizes_versions_scores_and_limits(quick_run):
    run = quick_run("state-centric", "gripper", "wl-xgboost-state")
    sgp.evaluate([run.folder], "state-centric", ["interpolation"])
    card = (run.folder / "card.md").read_text()
    for words in (
        "# state-centric wl-xgboost-state", "4 problems with 56 expert transitions, 2 more for validation",
        "| dimension | 302 |", f"xgboost {run.record['versions']['xgboost']}", "| state-centric | interpolation | ",
        "of 3 | ", "## Limits", '"rounds": 12',
    ):  # fmt: skip
        assert words in card, words
    sgp.evaluate([run.folder], "state-centric", ["validation"])
    card = (run.folder / "card.md").read_text()
    assert card.count("| state-centric | interpolation | ") == card.count("| state-centric | validation | ") == 1
