"""What methods plan does not change by accident.

`plans_before.csv` holds what every method that trains in seconds planned on small problems (seed 13) before training
and decoding became two things. A change of a method that is meant changes the file, and says so.
"""

from __future__ import annotations

import csv
from hashlib import sha256
from pathlib import Path

import pytest

import sgp

ROWS = list(csv.DictReader((Path(__file__).parent / "plans_before.csv").read_text().splitlines()))
KEYS = ("method", "variant", "decoding", "domain")
PLANNED = list(dict.fromkeys(tuple(row[key] for key in KEYS) for row in ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("planner", PLANNED, ids=" ".join)
def test_plans_are_those_of_before(planner, home):
    method, variant, decoding, domain = planner
    run = sgp.train(method, domain, "state-centric", variant, device="cpu")
    found = sgp.evaluate([run.folder], "state-centric", ("validation", "interpolation"), decodings=[decoding])
    now = [
        (split, each.problem, each.outcome.value, str(len(each.plan)), _digest(each.plan))
        for (_, _, split), tried in found.attempts.items()
        for each in tried
    ]
    names = ("split", "problem", "outcome", "length", "plan_sha256")
    before = [tuple(row[name] for name in names) for row in ROWS if tuple(row[key] for key in KEYS) == planner]
    assert sorted(now) == sorted(before)


def _digest(plan):
    return sha256("\n".join(plan).encode()).hexdigest()[:16] if plan else ""
