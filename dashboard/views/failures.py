"""Page Failures: why problems were not solved, in sentences with links to the steps that they count."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

import pandas
import sources
import streamlit as st
import work
from basics import check_link, css, image, in_order, plain, run_page, several

import sgp
from sgp.analysis.failures import (
    Failure,
    Finding,
    diagnosis,
    headline,
    kind_of_outcome,
)
from sgp.datasets.recorded import Recorded
from sgp.datasets.subject import PlannerName
from sgp.evaluation.attempts import recording_command
from sgp.evaluation.scores import DIAGNOSED, diagnose_splits, percent
from sgp.viewer.library import model_name, planner_name
from sgp.wording import counted

LIBRARY = sources.library()  # once a request: it looks at every file

STYLE = f"<style>{css('failures')}</style>"
PAGE = "failures"
MOST = 12  # cards that are shown at first
EVIDENCE = 5  # steps that a sentence links to
WIDE, HIGH = 220, 64  # of the course of open goals
SECONDS, GRACE = 60.0, 30.0  # of a repeated rollout, and on top
LONGEST_TRAINING = 300.0  # measured seconds of a training that is done here; it may take several times as long
SUBJECT = ("method", "variant", "domain", "suite", "split", "seed", "decoding", "selected_by")  # of an attempt
TRAINING_SECONDS = 1800.0


@st.cache_resource(show_spinner="Analysing failures", max_entries=4)
def failures(stamp: str) -> tuple[list[tuple[Recorded, Failure]], list[str]]:
    """The unsolved recorded rollouts with their failures, and a sentence for each that cannot be read."""
    found, damaged = [], []
    for each in LIBRARY.rollouts:
        try:
            failure = sgp.analysis.failure_of(each)
        except sgp.SgpError as error:
            damaged.append(str(error))
            continue
        if failure is not None:
            found.append((each, failure))
    return found, damaged


def pills(label: str, options: Iterable[str], key: str) -> list[str]:
    """A filter of few options that is part of the address; nothing chosen means everything."""
    known, singular = in_order(options), key.removesuffix("s")
    requested = [*st.query_params.get_all(key), *st.query_params.get_all(singular)]
    of_older = any(each in list(sgp.analysis.FailureKind) for each in requested)  # an address of an older version
    if of_older or singular in st.query_params:  # other pages write "domain"
        st.query_params.pop(singular, None)
        st.session_state[key] = [each for each in known if {each, in_words(each)} & {*requested}]
        st.query_params[key] = [in_words(each) for each in st.session_state[key]]
    how = {"selection_mode": "multi", "bind": "query-params", "wrap": True}
    chosen = st.pills(label, known, key=key, format_func=in_words, **how)
    return chosen or known


def in_words(option: str) -> str:
    """A kind of failure in words, other options as they are."""
    return sgp.analysis.FailureKind(option).words if option in list(sgp.analysis.FailureKind) else option


def to_step(recorded: Recorded, step: int, words: str) -> str:
    """A link to a step of the player; one past the last is the end."""
    place = step if step <= len(recorded.steps) else "end"
    address = urlencode({**LIBRARY.address_of(recorded), "step": place})
    return f'<a href="./rollout?{escape(address)}" target="_self">{escape(words)}</a>'


def at(recorded: Recorded, step: int) -> str:
    """A step in words; one past the last is the end."""
    return "the end" if step == len(recorded.steps) + 1 else f"step {step}"


def course(failure: Failure, step: int) -> str:
    """The open goals of every state as a curve, a step as a line."""
    counts, most = failure.open_goals, max(failure.open_goals) or 1
    across = (WIDE - 12) / max(len(counts) - 1, 1)
    points = " ".join(
        f"{6 + place * across:.1f},{6 + (HIGH - 12) * (1 - count / most):.1f}" for place, count in enumerate(counts)
    )
    wrong = 6 + min(step - 1, len(counts) - 1) * across
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}">'
        f'<line x1="{wrong:.1f}" y1="0" x2="{wrong:.1f}" y2="{HIGH}" stroke="#b34700" stroke-dasharray="3 3"/>'
        f'<polyline points="{points}" fill="none" stroke="#0067a5" stroke-width="2"/></svg>'
    )


def beside(recorded: Recorded, step: int) -> str:
    """Links from a failure: another choice at its step, and a rollout that solves its problem."""
    address = LIBRARY.address_of(recorded)
    last = min(step, len(recorded.steps))
    found = [("Try another choice there", "what_if", {**address, "step": last})] if recorded.steps else []
    solved = (
        each
        for each in LIBRARY.rollouts
        if each.head.get("outcome") == "solved" and each.head.get("sha256") == recorded.head.get("sha256")
    )
    if (other := next(solved, None)) is not None:
        sides = {"left": address["model"], "right": LIBRARY.address_of(other)["model"]}
        chosen = {"domain": address["domain"], "problem": address["problem"], **sides}
        found.append((f"Compare with {model_name(other.about)}, which solves it", "compare", chosen))
    return " · ".join(
        f'<a href="./{page}?{escape(urlencode(chosen))}" target="_self">{escape(words)}</a>'
        for words, page, chosen in found
    )


@st.cache_resource(show_spinner=False, max_entries=256)
def card(_recorded: Recorded, _failure: Failure, place: str, stamp: str, theme: str) -> str:
    """A failure: its step, the state there, the course of open goals, and the findings."""
    recorded, failure = _recorded, _failure
    address, primary, counts = LIBRARY.address_of(recorded), failure.primary, failure.open_goals
    best = headline(recorded, failure)
    shown = primary.step if isinstance(best, Finding) else best.steps[0]
    title, where = primary.kind.words if isinstance(best, Finding) else best.sentence, at(recorded, shown)
    others = ", ".join(
        to_step(recorded, each.step, f"{each.kind.words} at {at(recorded, each.step)}")
        for each in failure.findings
        if each is not best
    )
    said = []
    for remark in diagnosis(recorded):
        more = ", ..." if len(remark.steps) > EVIDENCE else ""
        first, *rest = remark.steps[:EVIDENCE]
        named = f"steps {first}" if rest else at(recorded, first)
        links = ", ".join([to_step(recorded, first, named), *(to_step(recorded, each, str(each)) for each in rest)])
        said.append(f"<li>{escape(remark.sentence)} ({links}{more}).</li>")
    drawn = sgp.viewer.drawn_state(recorded, shown)
    heading = f"{where.removeprefix('the ').capitalize()}: {title}"
    goals = f"Open goals: {counts[0]} at the start, {min(counts)} at best, {counts[-1]} at the end"
    return (
        f"<article><h3>{to_step(recorded, shown, heading)}</h3>"
        f"<p>{escape(address['domain'])}, {escape(address['problem'])}, "
        f'<span title="{escape(recorded.about.model)}">{escape(model_name(recorded.about))}</span>, '
        f"{counted(len(recorded.steps), 'step')}</p>"
        f"<div>{image(drawn, f'The state at {where}', 'state')}"
        f"<figure>{image(course(failure, shown), goals, 'course')}<figcaption>{goals}</figcaption></figure></div>"
        f"<ul>{''.join(said)}</ul>{f'<p>Also: {others}.</p>' if others else ''}"
        f"<p>{beside(recorded, shown)}</p></article>"
    )


SMALLER, LARGER = "interpolation", "extrapolation"  # splits that are compared


@st.cache_resource(show_spinner=False, max_entries=64)
def explanation(subjects: tuple[tuple[str, PlannerName], ...]) -> str:
    """The diagnosis of the first of some planners, each with a domain, that solves fewer of the larger problems."""
    for domain, planner in subjects:
        found = diagnose_splits(sources.scores_of(domain, planner), SMALLER, LARGER)
        if found is not None and found.shares["coverage"][1] < found.shares["coverage"][0]:
            break
    else:
        return ""
    lines = "".join(
        f'<tr><th scope="row">{escape(words)}</th>'
        + "".join(
            f'<td class="number">{percent(share)}</td><td><meter value="{share:.3f}"></meter></td>' for share in shares
        )
        + "</tr>"
        for words, shares in ((DIAGNOSED[metric], shares) for metric, shares in found.shares.items())
    )
    heads = "".join(
        f'<th scope="colgroup" colspan="2">{each}</th>'
        for each in (f"as large as in training ({SMALLER})", f"larger ({LARGER})")
    )
    return (
        f"<h3>An example: why “{escape(planner_name(planner))}” fails on larger problems of {escape(domain)}</h3>"
        f"<p>{escape(found.sentence)} (Measured by <code>sgp evaluate --diagnose</code>.)</p>"
        f'<table class="failures"><thead><tr><th scope="col">share</th>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )


def show_counts(counts: Counter[tuple[str, str]], kinds: Sequence[str], what: str) -> None:
    """A table of counts, kinds by columns."""
    columns = list(dict.fromkeys(column for _, column in counts))
    heads = "".join(f'<th scope="col" class="number">{escape(in_words(each))}</th>' for each in columns)
    lines = "".join(
        f'<tr><th scope="row">{escape(in_words(kind))}</th>'
        + "".join(f'<td class="number">{counts[kind, column] or "·"}</td>' for column in columns)
        + f'<td class="number"><b>{sum(counts[kind, column] for column in columns)}</b></td></tr>'
        for kind in kinds
        if any(counts[kind, column] for column in columns)
    )
    st.html(
        f'{STYLE}<table class="failures"><thead><tr><th scope="col">{escape(what)}</th>{heads}'
        f'<th scope="col" class="number">all</th></tr></thead><tbody>{lines}</tbody></table>'
    )


def show_recorded() -> None:
    """The recorded rollouts that are not solved."""
    found, damaged = failures(sources.stamp())
    for sentence in (*LIBRARY.damaged, *damaged):
        st.warning(plain(sentence))
    if not found:
        st.info(
            "No unsolved rollout is recorded. Record rollouts of your own runs with `sgp evaluate RUN... --record`."
        )
        return
    present = {kind for _, failure in found for kind in failure.kinds}
    names = {each.about.model: model_name(each.about) for each, _ in found}
    failing = list(names)
    with st.container(horizontal=True, gap="medium"):
        domains = pills("Domains", [LIBRARY.address_of(each)["domain"] for each, _ in found], "domains")
        models = several("Planners", failing, "models", sources.about_all(failing), names)
    kinds = pills("What happened", [kind.value for kind in sgp.analysis.FailureKind if kind in present], "kinds")

    def asked(each: Recorded) -> bool:
        return LIBRARY.address_of(each)["domain"] in domains and (models == failing or each.about.model in models)

    shown = [(each, failure) for each, failure in found if set(failure.kinds) & set(kinds) and asked(each)]
    if not shown:
        st.info("No recorded rollout matches these filters. Remove a filter.")
        return
    order = {kind: place for place, kind in enumerate(sgp.analysis.FailureKind)}
    solved = Counter(each.about.planner for each in LIBRARY.rollouts if each.head["outcome"] == "solved")

    failures_in = Counter(LIBRARY.address_of(each)["domain"] for each, _ in found)

    def interest(each: tuple[Recorded, Failure]) -> tuple[int, int, int]:
        recorded, failure = each
        domain = LIBRARY.address_of(recorded)["domain"]
        return -solved[recorded.about.planner], -failures_in[domain], order[failure.primary.kind]

    shown.sort(key=interest)
    st.caption(
        f"{len(shown)} of {sum(map(asked, LIBRARY.rollouts))} recorded rollouts of these domains and planners "
        f"{'failed' if present <= set(kinds) else 'failed in one of these ways'}; those of planners with the "
        "most solved recordings first. "
        "Click a title to open the player at the failure, a step number to open that step."
    )
    subjects = in_order((each.about.domain, each.about.planner) for each, _ in shown)
    if said := explanation(tuple(subjects)):
        st.html(f'{STYLE}<section class="failures why">{said}</section>')
    with st.expander("Counts and definitions"):
        show_counts(
            Counter((failure.primary.kind.value, LIBRARY.address_of(each)["domain"]) for each, failure in shown),
            list(sgp.analysis.FailureKind),
            "what happened (first that applies)",
        )
        show_meanings()
    drawn_for = sources.stamp(), st.context.theme.type  # the theme decides whether pictures are inverted
    most = None if st.session_state.get("failures all") else MOST
    cards = (card(each, failure, f"{each.place} {each.about}", *drawn_for) for each, failure in shown[:most])
    st.html(f'{STYLE}<div class="failures list">{"".join(cards)}</div>')
    if len(shown) > MOST:
        st.toggle(f"Show all {len(shown)}", key="failures all")


def show_meanings() -> None:
    """When each kind of failure applies."""
    st.markdown(
        "If several apply, tables count the first in this order, and the buttons above choose by all of them. "
        "For recorded rollouts, the others are listed below the "
        "findings, and the title is the rank of the expert's action instead, if this is in the worse half of more than "
        "three candidates. Of measured attempts, only the outcome is known."
    )
    st.markdown("\n".join(f"- **{kind.words}**: {kind.definition}." for kind in sgp.analysis.FailureKind))


@st.cache_resource(show_spinner=False)
def measured_unsolved() -> pandas.DataFrame:
    """The measured attempts that are not solved, with `kind` of failure, `model`, and their `name` in the address."""
    rows = sources.attempts()
    rows = rows[~rows["solved"]]
    family = [sources.family(suite, method) for suite, method in zip(rows["suite"], rows["method"], strict=True)]
    rows = rows.assign(family=family, main=rows["suite"] != "state-centric")
    rows = rows.sort_values(["main", "family", "planner", "domain", "size", "problem", "seed"], kind="stable")
    kind_of = {name: kind_of_outcome(sgp.Outcome(name)).value for name in set(rows["outcome"])}
    seeds = rows["seed"].astype(object).map(lambda seed: f" seed {seed}", na_action="ignore").fillna("")
    rows = rows.assign(kind=rows["outcome"].map(kind_of), model=rows["planner"] + seeds)
    names = rows["suite"].str.cat([rows[name] for name in ("domain", "split", "problem", "model")], sep=", ")
    return rows.assign(name=names)


def show_measured() -> None:
    """The unsolved measured attempts: only outcomes were stored, and each attempt can be repeated."""
    unsolved, requested = measured_unsolved(), st.query_params.get("attempt")
    counted = st.empty()
    with st.container(horizontal=True, gap="medium"):
        kinds = pills("What happened", list(unsolved["kind"]), "kinds")
        domains = pills("Domains", list(unsolved["domain"]), "domains")
        splits = pills("Splits", list(unsolved["split"]), "splits")
        names = sources.names_of(unsolved)
        planners = several("Planners", names, "planners", sources.about_all(names), names)

    def chosen(rows: pandas.DataFrame) -> pandas.DataFrame:
        for name, values in {"domain": domains, "split": splits, "planner": planners}.items():
            if set(values) != set(unsolved[name]):  # else also those that solve everything
                rows = rows[rows[name].isin(values)]
        return rows

    shown = chosen(unsolved[unsolved["kind"].isin(kinds)])
    ended = "are unsolved" if set(kinds) == set(unsolved["kind"]) else "ended in one of these ways"
    counted.caption(
        f"{len(shown)} of {len(chosen(sources.attempts()))} measured attempts of these domains, splits and planners "
        f"{ended}. Select a row to open its rollout if one is recorded, else to record it now."
    )
    attempt = next(unsolved[unsolved["name"] == requested].itertuples(index=False), None)
    if requested and attempt is None:
        st.warning(plain(f"This link needs the unsolved attempt '{requested}', which was not measured here."))
    show_attempt(attempt)
    if shown.empty:
        st.info("No unsolved attempt matches these filters. Remove a filter.")
        return
    happened = shown["kind"].map({kind: in_words(kind) for kind in kinds})
    table = shown.assign(happened=happened, planner=shown["planner"].map(names))
    columns = {"happened": "what happened", "size": "objects"}
    table = table[
        ["happened", "suite", "domain", "split", "problem", "size", "planner", "seed", "decisions", "seconds"]
    ]
    table["seconds"] = table["seconds"].round(2)
    names = list(shown["name"])
    key = f"attempts {hash(tuple(names))}"  # rows of another table are other attempts
    st.dataframe(
        table.rename(columns=columns),
        hide_index=True,
        height=420,
        width="content",
        key=key,
        selection_mode="single-row",
        on_select=lambda: choose_attempt(key, names),
    )
    with st.expander("Counts and definitions"):
        measured = shown["planner"].str.cat(shown["suite"], sep=", ")
        show_counts(Counter(zip(measured, shown["kind"], strict=True)), list(measured.unique()), "planner, suite")
        show_meanings()


def choose_attempt(key: str, names: Sequence[str]) -> None:
    """Puts the attempt of the row that was chosen into the address."""
    chosen = st.session_state[key]["selection"]["rows"]
    if chosen:
        st.query_params["attempt"] = names[chosen[0]]
    else:
        st.query_params.pop("attempt", None)


def show_attempt(row) -> None:
    """An attempt (a row, or None): its rollout if recorded, else the button or the commands that record it."""
    take_recorded()
    work.show_failure(PAGE)
    work.show_progress(PAGE)
    if row is None:
        return
    happened = in_words(row.kind)
    st.markdown(plain(f"{row.problem} of {row.domain}, {row.split}, {row.size} objects; {row.model}: it {happened}."))
    recorded = sources.rollout_of(row)
    if recorded is not None:
        with st.container(horizontal=True):
            address = LIBRARY.address_of(recorded)
            st.page_link("views/rollout.py", label="Watch it", icon=":material/play_arrow:", query_params=address)
            st.page_link("views/what_if.py", label="Try another choice", query_params=address)
    elif pandas.isna(row.seed):
        st.write("Fast Downward searches; there is no rollout to watch.")
    elif (why := too_long(row)) is None:
        if st.button("Record it now", type="primary", disabled=work.running(PAGE) is not None):
            subject = {name: getattr(row, name) for name in SUBJECT}
            facts = {"subject": subject | {"seed": int(row.seed)}, "problem": row.problem, "seconds": SECONDS}
            work.begin(PAGE, "recording", TRAINING_SECONDS + SECONDS + GRACE, "record", facts)
            st.rerun()
    else:
        st.write(f"{why} These commands record it:")
        st.code(recording_command(row), language="sh", wrap_lines=True)


def take_recorded() -> None:
    """Read the library again once a rollout was recorded."""
    ended = work.take(PAGE)
    if ended is not None and ended[1].result is not None:
        st.rerun()


def too_long(row) -> str | None:
    """Why an attempt's planner is not trained here; None if its training is short."""
    if row.selected_by:
        return "This planner is selected among many by validation, which takes long."
    scores = sources.measured()
    trainings = scores[(scores["metric"] == "training_seconds") & (scores["selected_by"] == "")]
    key = ["method", "variant", "domain", "suite"]
    seconds = trainings["value"][(trainings[key] == [getattr(row, name) for name in key]).all(axis=1)]
    if len(seconds) and seconds.max() > LONGEST_TRAINING:
        return f"Its training takes long (measured: {seconds.max():,.0f} s)."
    return None


def check_links(recorded: bool) -> None:
    """Refuse a link with a value that is no option of the recorded rollouts, or of the measured attempts."""
    if recorded:
        found, _ = failures(sources.stamp())
        domains: Iterable[str] = [LIBRARY.address_of(each)["domain"] for each, _ in found]
        kinds: Iterable[str] = [kind.value for _, failure in found for kind in failure.kinds]
        planners: Iterable[str] = [each.about.model for each, _ in found]
    else:
        unsolved = measured_unsolved()
        domains, kinds, planners = unsolved["domain"], unsolved["kind"], unsolved["planner"]
        check_link("Splits", unsolved["split"], "splits", "split")
    check_link("Domains", domains, "domains", "domain")
    check_link("Planners", planners, "models" if recorded else "planners")
    check_link("What happened", [*kinds, *map(in_words, kinds)], "kinds", "kind")


def main() -> None:
    """The page."""
    recorded, measured = "recorded rollouts", "measured attempts"
    check_link("View", [recorded, measured], "of")
    check_links(st.query_params.get("of", recorded) == recorded)
    view = st.segmented_control(
        "Of",
        [recorded, measured],
        default=recorded,
        key="of",
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    if view == recorded:
        show_recorded()
    else:
        show_measured()


run_page(main)
