import gzip
import re
from base64 import b64decode

import pandas as pd
import pytest

from sgp.errors import InputError, StoreError
from sgp.evaluation.attempts import attempts_frame, load_attempts, read_attempts, write_attempts
from sgp.evaluation.scores import Score, load_scores, read_scores, to_frame
from sgp.planning.rollout import Outcome
from sgp.reports.papers import beside_ours
from sgp.reports.report import write_report
from sgp.reports.table import Row, Table
from sgp.reports.tables import failures_table
from tests.browsing import watched

LARGEST = 3_000_000  # bytes of the report of all committed measurements
HOSTILE = '<script>alert("x")</script>'
PLACE = {"method": "m", "variant": "v", "domain": "d", "suite": "s", "split": "validation", "seed": 13}


def row(outcome=Outcome.SOLVED, size=4, **fields):
    length = 5 if outcome is Outcome.SOLVED else None
    facts = {**PLACE, "decoding": "", "selected_by": "", "problem": "p", "like": "", "size": size}
    facts |= {"outcome": outcome.value, "length": length, "expert_length": 4, "decisions": 5, "seconds": 0.25}
    return facts | fields


def score(metric="coverage", **fields):
    facts = {**PLACE, "metric": metric, "value": 0.5, "n": 2, "note": "measured today"}
    return Score(**facts | fields)


def test_attempts_survive_the_file_and_damage_names_the_line(tmp_path):
    rows = [row(like="q"), row(Outcome.TIMEOUT, expert_length=None), row(Outcome.HORIZON, seed=None, problem="a,b")]
    attempts = attempts_frame(rows)
    write_attempts(tmp_path / "a.csv", attempts)
    pd.testing.assert_frame_equal(read_attempts(tmp_path / "a.csv"), attempts)
    assert list(attempts.distinct_problem) == ["q", "p", "a,b"]
    assert list(attempts.solved) == [True, False, False]
    (tmp_path / "a.csv").write_text((tmp_path / "a.csv").read_text().replace("timeout", "bored"))
    with pytest.raises(StoreError, match=r"a\.csv, line 3 is no attempt .*bored.*; run the grid again"):
        read_attempts(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("method,variant,domain\nzero-change,wl,gripper\n")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xff")
    for file, words in (
        (tmp_path / "a.csv", r"a\.csv, line 2 is no attempt .*run the grid again"),
        (tmp_path, r"is no file of attempts \(.*give one that 'sgp grid' wrote"),
        (tmp_path / "bytes.csv", "is no file of attempts"),
        (tmp_path / "none.csv", "is missing; make it with 'sgp grid'"),
    ):
        with pytest.raises(StoreError, match=words):
            read_attempts(file)


def test_failures_begin_with_what_stopped_a_planner_and_tables_escape_markup():
    rows = [row(Outcome.HORIZON, size=n, problem=f"h{n}") for n in (9, 5, 7)]
    rows += [row(Outcome.TIMEOUT), row(), row(Outcome.MEMORY, variant="w")]
    words = [each.words for each in failures_table(attempts_frame(rows)).rows]
    assert words == [
        ("memory", "m w", "d", "validation", "1", "p (4 objects)"),
        ("timeout", "m v", "d", "validation", "1", "p (4 objects)"),
        ("horizon", "m v", "d", "validation", "3", "h5 (5 objects)"),
    ]
    from rich.console import Console

    shown_table = Table("t", ("a", "[b]"), (Row(("x|y", "[red]z[/red]")), Row(("h", ""), heading=True)), "[note]")
    assert shown_table.markdown() == "| a | [b] |\n| --- | --- |\n| x/y | [red]z[/red] |\n| **h** |  |\n\n[note]\n"
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(shown_table.terminal())
    shown = console.export_text()
    assert "[red]z[/red]" in shown
    assert "[note]" in shown
    assert "<td>[red]z[/red]</td>" in shown_table.html()


def report(folder, scores, rows=(), published=()):
    return write_report(folder, to_frame(scores), attempts_frame(rows), to_frame(published))


def figures_of(page):
    return gzip.decompress(b64decode(re.search('id="figures">([^<]*)', page)[1])).decode()


def test_the_report_is_one_page_that_requests_nothing_and_without_scores_an_error(tmp_path):
    rows = [row(), row(Outcome.TIMEOUT)]
    page = report(tmp_path / "out", [score(), score("expert_top1")], rows)
    text = page.read_text()
    assert text.index(">Unsolved<") < text.index(">Coverage<")
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="', text)
    assert text.count('class="plot"') == 5
    for title in ("Coverage by split, domain and planner", "Coverage over size", "Plan length (", "How attempts ended"):
        assert title in text + figures_of(text)
    assert "measured today" in text
    frame = pd.read_parquet(tmp_path / "out" / "attempts.parquet")
    assert frame["outcome"].tolist() == ["solved", "timeout"]
    assert pd.read_parquet(tmp_path / "out" / "scores.parquet")["value"].tolist() == [0.5, 0.5]
    pd.testing.assert_frame_equal(read_attempts(tmp_path / "out" / "attempts.csv"), attempts_frame(rows))
    assert list(read_scores(tmp_path / "out" / "scores.csv").metric) == ["coverage", "expert_top1"]
    with pytest.raises(InputError, match="there are no scores to report; make some with 'sgp evaluate' or 'sgp grid'"):
        report(tmp_path / "none", [])
    assert not (tmp_path / "none").exists()


def test_names_are_text(tmp_path):
    names = {"domain": HOSTILE, "variant": HOSTILE, "split": HOSTILE}
    rows = [row(**names, problem=HOSTILE), row(Outcome.STUCK, **names, problem=HOSTILE)]
    text = report(tmp_path, [score(**names, note=HOSTILE), score("expert_top1", **names)], rows).read_text()
    text = text[text.index("<body>") :]
    for part in (text, figures_of(text)):  # plotly reads texts as HTML
        assert "<script>alert" not in part
        assert r"\u003cscript\u003ealert" not in part
        assert "&lt;script&gt;" in part


@pytest.mark.browser
def test_every_figure_is_drawn(tmp_path, browser):
    file = report(tmp_path / "out", [score(), score("expert_top1")], [row(), row(Outcome.TIMEOUT)])
    page = watched(browser.new_page(viewport={"width": 1200, "height": 300}))
    page.goto(f"file://{file}")
    page.wait_for_selector(".plot .main-svg", timeout=60_000)
    for box in page.locator(".plot").all():
        box.locator(".main-svg").first.wait_for(timeout=60_000)
    assert page.asked == [f"file://{file}"]
    assert not page.wrong
    page.close()


@pytest.mark.slow
def test_a_report_of_the_committed_measurements_has_every_part(tmp_path):
    ours, attempts = load_scores(), load_attempts()
    ours, attempts = (frame[frame.suite == "state-centric"] for frame in (ours, attempts))
    page = write_report(tmp_path, ours, attempts, beside_ours())
    assert page.stat().st_size <= LARGEST
    text = page.read_text()
    for title in ("Unsolved", "Coverage", "Size", "Plan length", "Time", "Diagnostics", "Details", "Measured"):
        assert f"<h2>{title}</h2>" in text
    assert "symt-ed regrounding, published" in text
