import numpy as np
import pytest

from sgp.planning import clock
from sgp.planning.clock import SHARE, fair_share, free_memory, most_memory, resident_memory
from tests.conftest import python

GB = 10**9


@pytest.fixture
def machine(tmp_path):
    """Files as the kernel writes them; 8 GB are available."""
    information = tmp_path / "meminfo"
    information.write_text(f"MemTotal:  24000000 kB\nMemAvailable:  {8 * GB // 1024} kB\n")
    groups = tmp_path / "cgroup"
    groups.mkdir()
    return information, groups


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, 8 * GB),  # what the machine has available
        ({"max": f"{3 * GB}", "current": f"{2 * GB}", "stat": f"anon 5\ninactive_file {GB}"}, 2 * GB),
        ({"max": "max", "current": f"{2 * GB}", "stat": "inactive_file 0"}, 8 * GB),
        ({"max": f"{GB}", "current": f"{2 * GB}", "stat": "inactive_file 0"}, 0),
        (
            {
                "/memory.limit_in_bytes": f"{4 * GB}",
                "/memory.usage_in_bytes": f"{3 * GB}",
                "/memory.stat": f"cache 7\ntotal_inactive_file {GB}",
            },
            2 * GB,
        ),
    ],
)
def test_a_control_group_bounds_what_is_free(machine, files, free):
    information, groups = machine
    for name, text in files.items():
        file = groups / (f"memory{name}" if name[0] == "/" else f"memory.{name}")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n")
    assert abs(free_memory(information, groups) - free) < 1024


def test_a_process_has_what_it_holds_and_its_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(clock, "resident_memory", lambda: 2 * GB)
    monkeypatch.setattr(clock, "free_memory", lambda: 10 * GB)
    assert fair_share(1) == 2 * GB + int(SHARE * 10 * GB)
    assert fair_share(4) == 2 * GB + int(SHARE * 10 * GB / 4)


def test_the_most_memory_is_that_of_this_process_and_not_of_the_one_that_started_it():
    held = np.ones(50_000_000, np.uint8)
    assert most_memory() >= resident_memory() >= len(held)
    named = "from pathlib import Path; Path('/proc/self/comm').write_text('a: b::c')"  # as a cluster may do
    command = f"{named}; from sgp.planning.clock import most_memory; print(most_memory())"
    assert 10**6 < int(python("-c", command).stdout) < most_memory() - len(held) // 2
