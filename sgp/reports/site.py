"""A static site: gallery, players, coverage and tour as files that need no server and request nothing elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from sgp.datasets.recorded import Recorded
from sgp.datasets.subject import PlannerName
from sgp.errors import InputError, expected_one_of
from sgp.evaluation.scores import PLANNER, diagnose_splits, load_scores, select
from sgp.files import write_text
from sgp.installed import bundled
from sgp.progress import track
from sgp.reports.papers import beside_ours
from sgp.reports.table import Row
from sgp.reports.tables import NO_REFERENCE, REFERENCES, coverage_table
from sgp.viewer.export import file_stem, html_page, page_script, script
from sgp.viewer.gallery import ABOUT, BELOW, TITLE, Entry, cards, gallery, link
from sgp.viewer.library import planner_name, recorded_folder
from sgp.viewer.playback import playback
from sgp.viewer.tour import Tour, read_tour, tour_titles

PLAYERS = "rollouts"  # folder of the rollouts' pages
PAGES = {"index.html": "Rollouts", "coverage.html": "Coverage", "tour.html": "Tour"}
_FIRST = "tour.html"  # written first: with it a folder counts as a site
_SCRIPT = "player.js"  # of all rollouts
_LONGEST_STEM = 100
_DIALS = {"level": "Rounds", "size": "Objects"}
_PRESENT = "Keys: \u2190 and \u2192 change the stop, a shows the answer, p presents, Esc leaves."
_FILES = "All pages are plain files: they need no server and load nothing from other machines."


def choose_rollouts(rollouts: Sequence[Recorded], domain: str = "", most: int | None = None) -> list[Recorded]:
    """The rollouts of a domain (all if none is given), at most `most`: of as many domains and outcomes as possible.

    Raises InputError if there is none.
    """
    domains = sorted({each.about.domain for each in rollouts})
    if not domains:
        raise InputError("there is no recorded rollout; record some with 'sgp evaluate RUN --record'")
    if domain and domain not in domains:
        raise InputError(f"no rollout of domain '{domain}' is recorded; {expected_one_of(domains, domain)}")
    chosen = [each for each in rollouts if domain in ("", each.about.domain)]
    before = Counter[tuple[str, str]]()  # rollouts of the same domain and outcome
    places = []
    for each in chosen:
        kind = each.about.domain, str(each.head.get("outcome"))
        places.append(before[kind])
        before[kind] += 1
    first = sorted(range(len(chosen)), key=places.__getitem__)[:most]
    return [chosen[place] for place in sorted(first)]


def write_site(out: Path, rollouts: Sequence[Recorded], overwrite: bool = False) -> Path:
    """Write the site of some rollouts into a folder and return its first page.

    Pages of rollouts that an older site in the folder had are removed. Raises InputError for a folder with other files
    unless `overwrite`, which removes none of them.
    """
    older = _is_site(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; give a folder to write the site to")
    if not (older or overwrite) and out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} has files and is no site; give an empty folder, or write into it with --overwrite")
    before = set((out / PLAYERS).glob("*.html")) if older else set()
    tour = read_tour(recorded_folder() / "tour.json")
    shown = {(each.head["sha256"], each.about, each.head["outcome"]) for each in rollouts}
    played = (tour.rollout.head["sha256"], tour.rollout.about, tour.rollout.head["outcome"]) in shown
    address = _address(tour.rollout, playback(tour.rollout)) if played else ""
    write_text(out / _FIRST, _tour_page(tour, address))
    write_text(out / _SCRIPT, page_script())
    entries = [_write_player(out, each) for each in track(rollouts, "site")]
    write_text(out / "coverage.html", _page("coverage.html", "Coverage", "\n".join(_coverage(entries))))
    listed = "\n".join(_gallery(entries))
    write_text(out / "index.html", _page("index.html", TITLE, listed, _part("site.js")))
    for file in before - {out / each.address for each in entries}:
        file.unlink()
    return out / "index.html"


def _is_site(folder: Path) -> bool:
    page = folder / _FIRST
    return page.is_file() and '<meta name="generator" content="sgp site">' in page.read_text("utf-8", "replace")


def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _page(name: str, title: str, body: str, javascript: str = "", style: str = "") -> str:
    """One of the site's own pages."""
    here = ' aria-current="page"'
    links = " · ".join(f'<a href="{page}"{here * (page == name)}>{words}</a>' for page, words in PAGES.items())
    style += (bundled("dashboard") / "styles" / "gallery.css").read_text(encoding="utf-8")
    code = f'<script type="module">\n{javascript}</script>' if javascript else ""
    return Template(_part("site.html")).substitute(title=title, links=links, body=body, script=code, style=style)


def _address(recorded: Recorded, data: Mapping[str, Any]) -> str:
    """The page of a rollout, by its `playback`."""
    return f"{PLAYERS}/{file_stem(recorded)[:_LONGEST_STEM]}-{data['id'][:8]}.html"


def _write_player(out: Path, recorded: Recorded) -> Entry:
    """Write the page that plays a rollout."""
    data = playback(recorded)
    address = _address(recorded, data)
    back = '<nav style="max-width: 1500px; margin: 0 auto; padding: 6px 18px 0; font: 14px system-ui, sans-serif">'
    back += '<a href="../index.html" style="color: light-dark(#00568a, #7cc0f2)">All rollouts</a></nav>\n'
    write_text(out / address, html_page(data, back, f"../{_SCRIPT}"))
    return Entry.of(recorded, address)


def _gallery(entries: Sequence[Entry]) -> Iterator[str]:
    first = next((each for each in entries if each.solved), entries[0])
    yield f"<p>{ABOUT} {_FILES}</p>"
    yield cards(first.address, "#outcome=not+solved", "tour.html", len(tour_titles()))
    yield "<h2>Recorded rollouts</h2>"
    outcomes = ["solved", "not solved", *sorted({each.ending for each in entries if not each.solved})]
    yield "<form hidden>" + _choice("domain", sorted({each.domain for each in entries}))
    planners = {each.planner: ": ".join(filter(None, (each.method, each.settings))) for each in entries}
    yield _choice("planner", sorted(planners), planners) + _choice("outcome", outcomes)
    yield f"<output></output></form>\n{gallery(entries)}\n<p class=faint>{BELOW}</p>"


def _reasoned(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a coverage table, with a reason in each empty cell."""
    heads: tuple[str, ...] = ()
    for row in rows:
        if row.heading:
            heads = row.words
            yield row
            continue
        reason = "not printed" if row.published else "not measured"
        pairs = zip(row.words, heads, strict=True)
        yield replace(row, words=tuple(word or (reason if head else "no such split") for word, head in pairs))


def _named(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores whose planners have their names to read."""
    planners = [PlannerName(*key) for key in scores[list(PLANNER)].itertuples(index=False, name=None)]
    names = map(planner_name, planners)
    marks = ["Reference: " * (method in REFERENCES) for method in scores["method"]]
    return scores.assign(planner=list(map("".join, zip(marks, names, strict=True))))


def _choice(name: str, options: Sequence[str], words: Mapping[str, str] | None = None) -> str:
    shown = words or {each: each for each in options}
    listed = "".join(f'<option value="{escape(each)}">{escape(shown[each])}</option>' for each in options)
    return f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>{listed}</select></label>\n'


def _coverage(entries: Sequence[Entry]) -> Iterator[str]:
    """The coverage of each suite, and links to the recorded rollouts that failed."""
    scores, published = _named(load_scores()), _named(beside_ours())
    covered = select(scores, metric="coverage", size=None)
    suites = sorted(set(covered["suite"]), key=lambda suite: (suite not in {each.suite for each in entries}, suite))
    links = [*(link(f"#{suite}", f"Suite {suite}") for suite in suites), link("#failures", "Recorded failures")]
    yield f"<p>{' · '.join(links)}</p>"
    for suite in suites:
        own = select(scores, suite=suite)
        own = own.sort_values("method", key=lambda methods: ~methods.isin(REFERENCES), kind="stable")
        table = coverage_table(pd.concat([own, published]), "Coverage, with 95 % Wilson intervals")
        table = replace(table, rows=tuple(_reasoned(table.rows)))
        yield f'<section id="{escape(suite)}"><h2>Suite {escape(suite)}</h2>'
        if not own["method"].isin(REFERENCES).any():
            yield f"<p>{NO_REFERENCE}</p>"
        yield f'<div class=wide role=region tabindex=0 aria-label="Coverage on {escape(suite)}">{table.html()}</div>'
        yield "</section>"
    failed = [each for each in entries if not each.solved]
    yield "<section id=failures><h2>Recorded failures</h2>"
    yield f"<p>{len(failed)} of the {len(entries)} rollouts on this site do not reach the goal.</p>\n<ul>"
    for place in dict.fromkeys((each.domain, each.method, each.settings) for each in failed):
        found = [each for each in failed if (each.domain, each.method, each.settings) == place]
        pages = ", ".join(link(each.address, f"{each.problem} ({each.ending})") for each in found)
        planner = ": ".join(filter(None, place[1:]))
        yield f"<li>{escape(f'{place[0]}, {planner}')}: {pages}</li>"
    yield "</ul></section>"


def _tour_page(tour: Tour, played: str) -> str:
    """The stops one below another, with folded answers; `played` is the page of the tour's rollout, if it has one."""
    about, scores = tour.failure.about, load_scores()
    scores = scores[(scores["domain"] == about.domain) & (scores["planner"] == about.planner.title)]
    diagnosis = diagnose_splits(scores, "interpolation", "extrapolation")
    body, drawn = [f'<p><button id="present" hidden>Present</button> {_PRESENT}</p>'], list[object]()
    for place, title in enumerate(tour_titles()):
        dial, values, opening = {
            "Colours": ("level", range(tour.rounds + 1), 0),
            "Larger problems": ("size", tour.sizes, tour.opening_size),
        }.get(title, ("", [0], 0))
        stops = [tour.stop(place, diagnosis=diagnosis, **({dial: value} if dial else {})) for value in values]
        body.append(f'<section class="stop"><h2>{place + 1} {title}</h2>')
        if dial:
            marks = "".join(f"<option{' selected' * (value == opening)}>{value}</option>" for value in values)
            body.append(f"<p><label>{_DIALS[dial]} <select>{marks}</select></label></p>")
        first = stops[list(values).index(opening)]
        body.append(f'<p class="words">{escape(first.words)}</p><div class="row" data-stop="{len(drawn)}"></div>')
        if title == "Whole plan" and played:
            body.append(f"<p>{link(played, 'Step through this plan')}</p>")
        body.append(f'<p class="source">{escape(first.source)}, as recorded.</p></section>')
        drawn += [stop._asdict() for stop in stops]
    embedded = json.dumps(drawn, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    body.append(f'<script type="application/json" id="stops">{embedded}</script>')
    style = (bundled("dashboard") / "styles" / "tour.css").read_text(encoding="utf-8")
    code = f"{script('tour')}\n{_part('site_tour.js')}"
    return _page(_FIRST, "The method, stop by stop", "\n".join(body), code, style)
