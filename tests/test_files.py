import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xgboost

from sgp.errors import StoreError
from sgp.files import read_json, remove_old, whole_file, write_text
from sgp.methods.contrastive_delta import LinearModel
from sgp.methods.state_centric import BoostedTrees

SMALL = 4096  # maximum size of a file in bytes
LIMITED = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL}, {SMALL}))\n"


def run(code, **others):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, **others)


def test_a_device_is_written_to_and_never_replaced(tmp_path):
    write_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(StoreError, match="no space left while writing /dev/full; free some and run the command again"):
        write_text("/dev/full", "text")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_in_its_order(place, tmp_path):
    code = f"from sgp.files import write_text; print('a'); write_text({place!r}, 'b\\n'); print('c')"
    assert run(code).stdout == "a\nb\nc\n"
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, timeout=100)
    assert (tmp_path / "out").read_text() == "a\nb\nc\n"


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    for text in ("one", "two"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "real" / "file").read_text() == text
    assert (tmp_path / "link").is_symlink()
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["file"]


def test_an_old_file_is_removed_and_what_leads_to_it_stays(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "old")
    for place in ("link", "link", "never"):
        remove_old(tmp_path / place)
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "old").exists()
    remove_old("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(StoreError, match=r"cannot be written .*; choose another place"):
        remove_old(tmp_path)


def test_a_file_that_may_not_be_so_large_is_a_sentence_and_leaves_the_old_one(tmp_path):
    (tmp_path / "file").write_text("old")
    code = f"{LIMITED}from sgp.files import write_text; write_text({str(tmp_path / 'file')!r}, 'x' * 10000)"
    told = run(code).stderr.splitlines()[-1]
    assert told.endswith("/file is larger than this process may write; raise the limit ('ulimit -f') and run the "
                         "command again")  # fmt: skip
    assert (tmp_path / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def small_files():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def trees():
    rng = np.random.default_rng(3)
    rows = xgboost.DMatrix(rng.random((500, 4)), rng.random(500))
    return BoostedTrees(xgboost.train({"max_depth": 6, "nthread": 1}, rows, 20), 20)


@pytest.mark.parametrize("model", [trees, lambda: LinearModel(np.zeros((40, 40)))])
def test_weights_on_a_full_disk_are_a_sentence(model, tmp_path, small_files):
    """A limit on the size of files stands in for a full disk: libraries report both equally."""
    with pytest.raises(StoreError, match="weights is larger than this process may write; raise the limit"):
        model().save(tmp_path / "weights")
    assert not list(tmp_path.iterdir())


def test_the_words_of_a_library_in_rust_are_understood(tmp_path):
    with (
        pytest.raises(StoreError, match=r"no space left while writing .*file; free some"),
        whole_file(tmp_path / "file"),
    ):
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(RuntimeError, match="something else"), whole_file(tmp_path / "file"):
        raise RuntimeError("something else")


def test_places_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "file").write_text("x")
    reasons = {"": "Is a directory", "file/inner": "Not a directory|File exists", "n" * 300: "File name too long"}
    for place, reason in reasons.items():
        with pytest.raises(StoreError, match=rf"cannot be written \(({reason})\); choose another place"):
            write_text(tmp_path / place, "text")
    longest = tmp_path / ("n" * 250)
    write_text(longest, "text")
    assert longest.read_text() == "text"


def test_json_that_is_no_json_is_a_sentence(tmp_path):
    for content in (b"\xff\xfe", b"{", b"[" * 100_000):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(StoreError, match="is no complete JSON"):
            read_json(tmp_path / "file")
    with pytest.raises(StoreError, match="is missing"):
        read_json(Path("nowhere.json"))
