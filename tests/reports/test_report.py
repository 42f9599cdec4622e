from __future__ import annotations

import re

import pandas as pd
import pytest

import sgp
from sgp.errors import InputError, StoreError
from sgp.evaluation.attempts import AttemptRow, read_attempts, write_attempts
from sgp.planning.rollout import Outcome
from sgp.reports.report import failures_sheet, write_report
from sgp.reports.sheets import Row, Sheet
from sgp.reports.tables import measured, measured_attempts
from tests.browsing import watched
from tests.reports.reading import whole_text

LARGEST = 3_000_000  # bytes of the report of all committed measurements
HOSTILE = '<script>alert("x")</script>'


def row(outcome=Outcome.SOLVED, variant="v", size=4, **fields):
    length = 5 if outcome is Outcome.SOLVED else None
    return AttemptRow(
        **{
            "method": "m", "variant": variant, "domain": "d", "suite": "s", "split": "validation", "seed": 13,
            "problem": "p", "size": size, "outcome": outcome, "length": length, "expert_length": 4, "decisions": 5,
            "seconds": 0.25, **fields,
        }
    )  # fmt: skip


def score(metric="coverage", value=0.5, **fields):
    return sgp.Score(
        **{
            "method": "m", "variant": "v", "domain": "d", "suite": "s", "split": "validation", "seed": 13,
            "metric": metric, "value": value, "count": 2, "note": "measured today", **fields,
        }
    )  # fmt: skip


def test_attempts_survive_the_file_and_damage_names_the_line(tmp_path):
    rows = [row(like="q"), row(Outcome.TIMEOUT, expert_length=None), row(Outcome.HORIZON, seed=None, problem="a,b")]
    write_attempts(tmp_path / "a.csv", rows)
    assert read_attempts(tmp_path / "a.csv") == rows
    assert [each.first for each in rows] == ["q", "p", "a,b"]
    (tmp_path / "a.csv").write_text((tmp_path / "a.csv").read_text().replace("timeout", "bored"))
    with pytest.raises(StoreError, match=r"a\.csv, line 3 is no attempt .*bored.*; run the grid again"):
        read_attempts(tmp_path / "a.csv")
    with pytest.raises(StoreError, match="is missing; make it with 'sgp grid'"):
        read_attempts(tmp_path / "none.csv")


def test_failures_begin_with_what_stopped_a_planner():
    rows = [row(Outcome.HORIZON, size=n, problem=f"h{n}") for n in (9, 5, 7)]
    rows += [row(Outcome.TIMEOUT), row(), row(Outcome.MEMORY, variant="w")]
    sheet = failures_sheet(rows)
    assert [each.words for each in sheet.rows] == [
        ("memory", "m w", "d", "validation", "1", "p (4 objects)"),
        ("timeout", "m v", "d", "validation", "1", "p (4 objects)"),
        ("horizon", "m v", "d", "validation", "3", "h5 (5 objects)"),
    ]


def test_the_report_is_one_page_that_asks_for_nothing(tmp_path):
    page = write_report(tmp_path / "out", [score(), score("expert_top1")], [row(), row(Outcome.TIMEOUT)], [])
    text = whole_text(page)
    assert text.index("Unsolved") < text.index("Coverage")
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="', text)
    assert text.count('class="plot"') >= 5
    for title in (
        "Coverage by split, domain and planner",
        "Coverage over size",
        "Plan lengths",
        "Solved over time",
        "How attempts ended",
    ):
        assert title in text
    assert "expert&#x27;s successor ranked first" in text or "expert's successor ranked first" in text
    assert "measured today" in text
    frame = pd.read_parquet(tmp_path / "out" / "attempts.parquet")
    assert frame["outcome"].tolist() == ["solved", "timeout"]
    assert pd.read_parquet(tmp_path / "out" / "scores.parquet")["value"].tolist() == [0.5, 0.5]
    assert read_attempts(tmp_path / "out" / "attempts.csv")[0] == row()
    assert sgp.read_scores(tmp_path / "out" / "scores.csv")[0] == score()


def test_names_are_text(tmp_path):
    names = {"domain": HOSTILE, "variant": HOSTILE, "split": HOSTILE}
    rows = [row(**names, problem=HOSTILE), row(Outcome.STUCK, **names, problem=HOSTILE)]
    text = whole_text(write_report(tmp_path, [score(**names, note=HOSTILE)], rows, []))
    assert HOSTILE not in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.browser
def test_every_figure_is_drawn_where_it_is_seen(tmp_path, browser):
    """Of those far below nothing is drawn before."""
    file = write_report(tmp_path / "out", [score(), score("expert_top1")], [row(), row(Outcome.TIMEOUT)], [])
    page = watched(browser.new_page(viewport={"width": 1200, "height": 300}))
    page.goto(f"file://{file}")
    page.wait_for_selector(".plot .main-svg", timeout=60_000)
    boxes = page.locator(".plot").all()
    assert boxes[-1].locator("svg").count() == 0
    for box in boxes:
        box.scroll_into_view_if_needed()
        box.locator(".main-svg").first.wait_for(timeout=60_000)
    assert "Solved over time" in page.locator("body").inner_text()
    assert page.asked == [f"file://{file}"]
    assert not page.wrong
    page.close()


def test_nothing_to_report_is_told(tmp_path):
    with pytest.raises(InputError, match="there are no scores to report; make some with 'sgp evaluate' or 'sgp grid'"):
        write_report(tmp_path / "out", [], [], [])
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_report_of_the_committed_measurements_has_every_part(tmp_path):
    theirs = [each for each in sgp.published("state-centric") if each.table == "1"]
    ours = [each for each in measured() if each.suite == "state-centric"]
    rows = [each for each in measured_attempts() if each.suite == "state-centric"]
    page = write_report(tmp_path, ours, rows, theirs)
    assert page.stat().st_size <= LARGEST
    text = page.read_text()
    for title in ("Unsolved", "Coverage", "Size", "Plan length", "Time", "Diagnostics", "Details", "Measured"):
        assert f"<h2>{title}</h2>" in text
    assert "symt-ed regrounding, published" in text


def test_sheets_escape_what_would_be_markup():
    from rich.console import Console

    sheet = Sheet("t", ("a", "[b]"), (Row(("x|y", "[red]z[/red]")), Row(("h", ""), heading=True)), "[note]")
    assert sheet.markdown() == "| a | [b] |\n| --- | --- |\n| x/y | [red]z[/red] |\n| **h** |  |\n\n[note]\n"
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(sheet.terminal())
    shown = console.export_text()
    assert "[red]z[/red]" in shown
    assert "[note]" in shown
    assert "<td>[red]z[/red]</td>" in sheet.html()
