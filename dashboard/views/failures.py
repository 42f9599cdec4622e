"""Page: what went wrong in unsolved problems, by kind, each with a link to the step."""

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import sources
import streamlit as st

import sgp

LIBRARY = sources.library()  # once a request: it looks at every file

STYLE = """<style>
.failures { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
.failures.list { display: grid; grid-template-columns: repeat(auto-fill, minmax(440px, 1fr)); gap: 14px; }
.failures article { border: 1px solid #8886; border-radius: 6px; padding: 10px 14px; min-width: 0; }
.failures h3 { font-size: 17px; margin: 0; padding: 0; } .failures p { margin: 2px 0 6px; }
.failures article > div { display: flex; gap: 12px; align-items: center; }
.failures img { background: #ffffff; border-radius: 4px; } .failures .state { height: 130px; max-width: 55%; }
.failures figure { margin: 0; } .failures figcaption { font-size: 13px; } .failures .course { width: 100%; }
.failures ul { margin: 8px 0 4px; padding-left: 18px; } .failures li { margin: 2px 0; font-size: 14px; }
.failures a { color: light-dark(#0067a5, #63b3ed); }
.failures th { text-align: left; font-weight: 600; }
.failures th, .failures td { padding: 4px 14px 4px 0; border-bottom: 1px solid #8884; vertical-align: top; }
.failures .number { text-align: right; padding-left: 14px; }
</style>"""
MOST = 24  # cards
EVIDENCE = 5  # steps that a sentence links to
WIDE, HIGH = 220, 64  # of the course of open goals


@st.cache_resource(show_spinner=False, max_entries=4)
def failures(stamp: sources.Stamp) -> tuple[list[tuple[sgp.Recorded, sgp.Failure]], list[str]]:
    """The unsolved recorded rollouts with what went wrong, and a sentence for each that cannot be read."""
    found, damaged = [], []
    for each in LIBRARY.rollouts:
        try:
            failure = sgp.failure_of(each)
        except sgp.SgpError as error:
            damaged.append(str(error))
            continue
        if failure is not None:
            found.append((each, failure))
    return found, damaged


def several(label: str, options: Sequence[str], key: str) -> list[str]:
    """A filter that stands in the address; nothing chosen means everything."""
    known, asked = list(dict.fromkeys(options)), st.query_params.get_all(key)
    if any(each in list(sgp.FailureKind) for each in asked):  # an address made before kinds were said in words
        del st.query_params[key]
        st.session_state[key] = [each for each in known if each in asked]
    chosen = st.multiselect(label, known, key=key, bind="query-params", placeholder="all", format_func=in_words)
    return chosen or known


def in_words(option: str) -> str:
    """A kind of failure in plain words, anything else as it is."""
    return sgp.FailureKind(option).words if option in list(sgp.FailureKind) else option


def to_step(recorded: sgp.Recorded, step: int, words: str) -> str:
    """A link to a step of the player."""
    address = urlencode({**LIBRARY.address_of(recorded), "step": step})
    return f'<a href="./?{escape(address)}" target="_self">{escape(words)}</a>'


def at(recorded: sgp.Recorded, step: int) -> str:
    """A step in words; the one past the last is the end."""
    return "the end" if step == len(recorded.steps) + 1 else f"step {step}"


def image(svg: str, said: str, kind: str) -> str:
    """A drawing as an image: Streamlit takes drawings out of HTML."""
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return f'<img class="{kind}" src="{source}" alt="{escape(said)}">'


def course(failure: sgp.Failure) -> str:
    """The open goals of every state as a curve, the step where it went wrong as a line."""
    counts, most = failure.open_goals, max(failure.open_goals) or 1
    across = (WIDE - 12) / max(len(counts) - 1, 1)
    points = " ".join(
        f"{6 + place * across:.1f},{6 + (HIGH - 12) * (1 - count / most):.1f}" for place, count in enumerate(counts)
    )
    wrong = 6 + min(failure.primary.step - 1, len(counts) - 1) * across
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}">'
        f'<line x1="{wrong:.1f}" y1="0" x2="{wrong:.1f}" y2="{HIGH}" stroke="#b34700" stroke-dasharray="3 3"/>'
        f'<polyline points="{points}" fill="none" stroke="#0067a5" stroke-width="2"/></svg>'
    )


@st.cache_resource(show_spinner=False, max_entries=256)
def card(_recorded: sgp.Recorded, _failure: sgp.Failure, place: str, stamp: sources.Stamp) -> str:
    """What went wrong in a rollout: where, the state there, the course of open goals, and what counts tell."""
    recorded, failure = _recorded, _failure
    address, primary, counts = LIBRARY.address_of(recorded), failure.primary, failure.open_goals
    where = at(recorded, primary.step)
    others = ", ".join(
        to_step(recorded, each.step, f"{each.kind.words} at {at(recorded, each.step)}") for each in failure.findings[1:]
    )
    said = []
    for remark in sgp.diagnosis(recorded):
        evidence = ", ".join(to_step(recorded, each, str(each)) for each in remark.steps[:EVIDENCE])
        more = ", ..." if len(remark.steps) > EVIDENCE else ""
        told = f" ({'steps' if len(remark.steps) > 1 else 'step'} {evidence}{more})" if evidence else ""
        said.append(f"<li>{escape(remark.sentence)}{told}.</li>")
    drawn = sgp.drawn_state(recorded, primary.step)
    goals = f"Open goals: {counts[0]} at the start, {min(counts)} at best, {counts[-1]} at the end"
    return (
        f"<article><h3>{to_step(recorded, primary.step, f'{primary.kind.words}: {where}')}</h3>"
        f"<p>{escape(address['domain'])}, {escape(address['problem'])}, {escape(recorded.about.model)}, "
        f"{len(recorded.steps)} steps</p>"
        f"<div>{image(drawn, f'The state at {where}', 'state')}"
        f"<figure>{image(course(failure), goals, 'course')}<figcaption>{goals}</figcaption></figure></div>"
        f"<ul>{''.join(said)}</ul>{f'<p>Also: {others}.</p>' if others else ''}</article>"
    )


def show_counts(counts: Counter[tuple[str, str]], kinds: Sequence[str], what: str) -> None:
    """A table of numbers, kinds by columns."""
    columns = list(dict.fromkeys(column for _, column in counts))
    heads = "".join(f'<th scope="col" class="number">{escape(each)}</th>' for each in columns)
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
        st.warning(sentence)
    if not found:
        st.info("No unsolved rollout is recorded; `sgp evaluate RUN... --record` keeps those of your own runs.")
        return
    kind_column, domain_column, model_column = st.columns([3, 3, 5])
    with kind_column:
        present = {kind for _, failure in found for kind in failure.kinds}
        kinds = several("What happened", [kind.value for kind in sgp.FailureKind if kind in present], "kinds")
    with domain_column:
        domains = several("Domains", [LIBRARY.address_of(each)["domain"] for each, _ in found], "domains")
    with model_column:
        models = several("Models", [each.about.model for each, _ in found], "models")
    shown = [
        (each, failure)
        for each, failure in found
        if set(failure.kinds) & set(kinds)
        and LIBRARY.address_of(each)["domain"] in domains
        and each.about.model in models
    ]
    if not shown:
        st.info("No recorded rollout is of these kinds, domains and models; take a filter away.")
        return
    order = {kind: place for place, kind in enumerate(sgp.FailureKind)}
    shown.sort(key=lambda each: (order[each[1].primary.kind], LIBRARY.address_of(each[0])["domain"]))
    show_counts(
        Counter((failure.primary.kind.value, LIBRARY.address_of(each)["domain"]) for each, failure in shown),
        list(sgp.FailureKind),
        "what happened",
    )
    stamp = sources.stamp()
    cards = (card(recorded, failure, f"{recorded.place} {recorded.about}", stamp) for recorded, failure in shown[:MOST])
    st.html(f'{STYLE}<div class="failures list">{"".join(cards)}</div>')
    if len(shown) > MOST:
        st.caption(f"The first {MOST} of {len(shown)}; filter to see the others.")


def show_measured() -> None:
    """The measured attempts that are not solved: of them the outcome alone was kept."""
    unsolved = [row for row in sources.attempts() if not row.solved]
    st.caption(
        f"{len(unsolved)} of {len(sources.attempts())} measured attempts are not solved. Of them the outcome alone was "
        "kept, so their kind is how they ended; to see more, record one (Coverage, View: instances)."
    )
    kind_of = {outcome: sgp.kind_of_outcome(outcome).value for outcome in {row.outcome for row in unsolved}}
    columns = st.columns(4)
    with columns[0]:
        kinds = several("Kinds", [kind_of[row.outcome] for row in unsolved], "kinds")
    with columns[1]:
        domains = several("Domains", [row.domain for row in unsolved], "domains")
    with columns[2]:
        splits = several("Splits", [row.split for row in unsolved], "splits")
    with columns[3]:
        planners = several("Planners", [sgp.planner_title(row) for row in unsolved], "planners")
    shown = [
        row
        for row in unsolved
        if kind_of[row.outcome] in kinds
        and row.domain in domains
        and row.split in splits
        and sgp.planner_title(row) in planners
    ]
    if not shown:
        st.info("No unsolved attempt is of these kinds, domains, splits and planners; take a filter away.")
        return
    counts, rows = st.columns([2, 3])
    with counts:
        show_counts(
            Counter((sgp.planner_title(row), kind_of[row.outcome]) for row in shown),
            list(dict.fromkeys(sgp.planner_title(row) for row in shown)),
            "planner",
        )
    with rows:
        table = {
            "kind": [kind_of[row.outcome] for row in shown],
            "domain": [row.domain for row in shown],
            "split": [row.split for row in shown],
            "problem": [row.problem for row in shown],
            "objects": [row.size for row in shown],
            "planner": [sgp.planner_title(row) for row in shown],
            "seed": [row.seed for row in shown],
            "decisions": [row.decisions for row in shown],
            "seconds": [row.seconds for row in shown],
        }
        st.dataframe(table, hide_index=True, height=560)


def main() -> None:
    """The page."""
    recorded, measured = "recorded rollouts", "measured attempts"
    view = st.segmented_control(
        "Of", [recorded, measured], default=recorded, key="of", bind="query-params", required=True
    )
    with st.expander("What the kinds mean"):
        st.markdown("The first kind in this order that applies is the primary one; the others stand beside it.")
        st.markdown("\n".join(f"- **{kind.words}** ({kind}): {kind.definition}." for kind in sgp.FailureKind))
    if view == recorded:
        show_recorded()
    else:
        show_measured()


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
