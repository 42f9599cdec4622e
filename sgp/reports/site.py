"""A static site: gallery, players, coverage and tour as files that need no server and request nothing elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

import pandas as pd

from sgp.datasets.recorded import Recorded
from sgp.errors import InputError, expected_one_of
from sgp.evaluation.scores import diagnose_splits, load_scores, select
from sgp.files import write_text
from sgp.installed import bundled
from sgp.progress import track
from sgp.reports.papers import beside_ours
from sgp.reports.tables import coverage_table
from sgp.viewer.export import file_stem, html_page, script
from sgp.viewer.library import recorded_folder
from sgp.viewer.playback import drawn_state, playback
from sgp.viewer.tour import Tour, read_tour, tour_titles

PLAYERS = "rollouts"  # folder of the rollouts' pages
PAGES = {"index.html": "Rollouts", "coverage.html": "Coverage", "tour.html": "Tour"}
_FIRST = "tour.html"  # written first: with it a folder counts as a site
_LONGEST_STEM = 100
_WHAT = (
    "sgp trains planners on small problems and lets them solve larger ones of the same domain. Each rollout below is "
    "a recorded run of a planner: step through its states, see what it chose from and how it ranked the candidates. "
    "All pages are plain files: they need no server and load nothing from other machines."
)
_GUESS = "Guess first: which action does the model take?"


@dataclass(frozen=True)
class _Entry:
    """A rollout in the gallery: its page's address in the site, and the lengths of its plan and the expert's."""

    address: str
    suite: str
    domain: str
    problem: str
    planner: str
    outcome: str
    length: int
    expert: int | None
    svg: str

    @property
    def solved(self) -> bool:
        return self.outcome == "solved"


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
    write_text(out / _FIRST, _tour_page(read_tour(recorded_folder() / "tour.json")))
    entries = [_write_player(out, each) for each in track(rollouts, "site")]
    write_text(out / "coverage.html", _page("coverage.html", "Coverage", "\n".join(_coverage(entries))))
    gallery = "\n".join(_gallery(entries))
    write_text(out / "index.html", _page("index.html", "Learned generalized planning", gallery, _part("site.js")))
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
    code = f'<script type="module">\n{javascript}</script>' if javascript else ""
    return Template(_part("site.html")).substitute(title=title, links=links, body=body, script=code, style=style)


def _write_player(out: Path, recorded: Recorded) -> _Entry:
    """Write the page that plays a rollout."""
    data = playback(recorded)
    address = f"{PLAYERS}/{file_stem(recorded)[:_LONGEST_STEM]}-{data['id'][:8]}.html"
    back = '<nav style="max-width: 1500px; margin: 0 auto; padding: 6px 18px 0; font: 14px system-ui, sans-serif">'
    back += '<a href="../index.html" style="color: light-dark(#00568a, #7cc0f2)">All rollouts</a></nav>\n'
    write_text(out / address, html_page(data, back))
    expert = data["expert"] and data["expert"]["length"]
    facts = {name: data[name] for name in ("domain", "problem", "outcome", "length")}
    last = drawn_state(recorded, len(recorded.steps) + 1)
    return _Entry(address, recorded.about.suite, planner=data["model"], expert=expert, svg=last, **facts)


def _gallery(entries: Sequence[_Entry]) -> Iterator[str]:
    first = next((each for each in entries if each.solved), entries[0])
    cards = [
        (first.address, "Step through a plan", f"{first.domain} {first.problem}, decision by decision"),
        ("#outcome=not+solved", "Why plans fail", "recorded rollouts that do not reach the goal"),
        ("tour.html", "Learn the method", f"from a state to the selected action, in {len(tour_titles())} stops"),
    ]
    yield f"<p>{_WHAT}</p>\n<ul class=cards>"
    for address, title, words in cards:
        yield f'<li><a href="{address}"><b>{title}</b>{escape(words)}</a></li>'
    yield "</ul>\n<h2>Recorded rollouts</h2>"
    outcomes = ["solved", "not solved", *sorted({each.outcome for each in entries} - {"solved"})]
    yield "<form hidden>" + _choice("domain", sorted({each.domain for each in entries})) + _choice("outcome", outcomes)
    yield "<output></output></form>\n<ul class=gallery>"
    for each in entries:
        outcome = each.outcome if each.solved else f"not solved\n{each.outcome}"
        length = f"{each.length} actions" + ("" if each.expert is None else f", expert {each.expert}")
        ended = "solved" if each.solved else f"not solved ({each.outcome})"
        yield (
            f'<li data-domain="{escape(each.domain)}" data-outcome="{escape(outcome)}"><a href="{each.address}">'
            f"<div class=thumbnail aria-hidden=true>{each.svg}</div><b>{escape(f'{each.domain} {each.problem}')}</b>"
            f"<span>{escape(each.planner)}</span><span>{escape(f'{ended}, {length}')}</span></a></li>"
        )
    yield "</ul>\n<p class=faint>The pictures show the last state of each rollout.</p>"


def _link(address: str, words: str) -> str:
    return f'<a href="{escape(address)}">{escape(words)}</a>'


def _choice(name: str, options: Sequence[str]) -> str:
    listed = "".join(f'<option value="{escape(each)}">{escape(each)}</option>' for each in options)
    return f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>{listed}</select></label>\n'


def _coverage(entries: Sequence[_Entry]) -> Iterator[str]:
    """The coverage of each suite, and links to the recorded rollouts that failed."""
    scores, published = load_scores(), beside_ours()
    covered = select(scores, metric="coverage", size=None)
    suites = sorted(set(covered["suite"]), key=lambda suite: (suite not in {each.suite for each in entries}, suite))
    links = [*(_link(f"#{suite}", f"Suite {suite}") for suite in suites), _link("#failures", "Recorded failures")]
    yield f"<p>{' · '.join(links)}</p>"
    for suite in suites:
        table = coverage_table(
            pd.concat([select(scores, suite=suite), published]), "Coverage, with 95 % Wilson intervals"
        )
        yield f'<section id="{escape(suite)}"><h2>Suite {escape(suite)}</h2>'
        yield f'<div class=wide role=region tabindex=0 aria-label="Coverage on {escape(suite)}">{table.html()}</div>'
        yield "</section>"
    failed = [each for each in entries if not each.solved]
    yield "<section id=failures><h2>Recorded failures</h2>"
    yield f"<p>{len(failed)} of the {len(entries)} rollouts on this site do not reach the goal.</p>\n<ul>"
    for place in dict.fromkeys((each.domain, each.planner) for each in failed):
        found = [each for each in failed if (each.domain, each.planner) == place]
        pages = ", ".join(_link(each.address, f"{each.problem} ({each.outcome})") for each in found)
        yield f"<li>{escape(', '.join(place))}: {pages}</li>"
    yield "</ul></section>"


def _tour_page(tour: Tour) -> str:
    """The stops one under another; the answer to the question is folded."""
    about, scores = tour.failure.about, load_scores()
    scores = scores[(scores["domain"] == about.domain) & (scores["planner"] == about.planner.title)]
    diagnosis = diagnose_splits(scores, "interpolation", "extrapolation")
    body, drawn = [], list[object]()

    def row(**stop: object) -> str:
        drawn.append({"scenes": [], "graph": "", "bars": [], "heading": "", **stop})
        return f'<div class="row" data-stop="{len(drawn) - 1}"></div>'

    for place, title in enumerate(tour_titles()):
        stop = tour.stop(place, tour.rounds, diagnosis)
        parts = {"scenes": stop.scenes, "graph": stop.graph, "bars": stop.bars, "heading": stop.heading}
        body += [f"<section><h2>{place + 1} {title}</h2>", f"<p>{escape(stop.words)}</p>"]
        if title == "Colours":
            body.append(row(**parts))
            for level in range(tour.rounds):
                body.append(f"<details><summary>After round {level}</summary>")
                body.append(row(graph=tour.stop(place, level).graph) + "</details>")
        elif title == "Nearest successor":
            names = tour.actions
            body += [row(scenes=stop.scenes), f"<p>{_GUESS}</p><ul>", *(f"<li>{escape(name)}</li>" for name in names)]
            rank = tour.order.index(tour.chosen) + 1
            answer = escape(f"The model takes {names[tour.chosen]}, rank {rank} of {len(names)}.")
            body.append(f"</ul><details><summary>Answer</summary><p>{answer}</p>")
            body.append(row(bars=stop.bars, heading=stop.heading) + "</details>")
        elif stop.scenes or stop.graph or stop.bars:
            body.append(row(**parts))
        body.append(f"<p class=source>{escape(stop.source)}, as recorded.</p></section>")
    embedded = json.dumps(drawn, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    body.append(f'<script type="application/json" id="stops">{embedded}</script>')
    draw = 'const stops = JSON.parse(document.getElementById("stops").textContent);\n'
    draw += 'for (const each of document.querySelectorAll(".row")) drawStop(each, stops[each.dataset.stop]);\n'
    style = (bundled("dashboard") / "styles" / "tour.css").read_text(encoding="utf-8")
    return _page(_FIRST, "The method, stop by stop", "\n".join(body), f"{script('tour')}\n{draw}", style)
