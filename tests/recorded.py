"""The package's recorded rollouts as lines of text, for tests that change or count them."""

import gzip

from sgp.datasets.store import data_folder


def recorded_files(pattern):
    """Return the files of data/recorded that match a pattern, in order; the suffix may be left out."""
    return sorted((data_folder() / "recorded").glob(f"{pattern}.jsonl.gz"))


def recorded_file(pattern):
    return recorded_files(pattern)[0]


def recorded_lines(pattern):
    return gzip.decompress(recorded_file(pattern).read_bytes()).decode().splitlines()
