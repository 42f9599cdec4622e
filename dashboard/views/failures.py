"""Page: what went wrong in unsolved problems, by kind, each with a link to the step."""

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
.failures.list { width: 100%; }
.failures a { color: light-dark(#0067a5, #63b3ed); }
.failures th { text-align: left; font-weight: 600; }
.failures th, .failures td { padding: 4px 14px 4px 0; border-bottom: 1px solid #8884; vertical-align: top; }
.failures .number { text-align: right; padding-left: 14px; }
</style>"""
MOST = 200  # rows of the list


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
    known = list(dict.fromkeys(options))
    return st.multiselect(label, known, key=key, bind="query-params", placeholder="all") or known


def link(recorded: sgp.Recorded, finding: sgp.Finding) -> str:
    """A link to a step of the player."""
    address = urlencode({**LIBRARY.address_of(recorded), "step": finding.step})
    end = len(recorded.steps) + 1
    words = "the end" if finding.step == end else f"step {finding.step}"
    return f'<a href="./?{escape(address)}" target="_self">{escape(finding.kind)} at {words}</a>'


def row(recorded: sgp.Recorded, failure: sgp.Failure) -> str:
    """A line of the list."""
    address = LIBRARY.address_of(recorded)
    counts = failure.open_goals
    others = ", ".join(link(recorded, each) for each in failure.findings[1:])
    cells = [escape(address["domain"]), escape(address["problem"]), escape(recorded.about.model)]
    numbers = [len(recorded.steps), counts[0], min(counts), counts[-1]]
    return (
        f"<tr><td><b>{link(recorded, failure.primary)}</b></td>"
        + "".join(f"<td>{each}</td>" for each in cells)
        + "".join(f'<td class="number">{each}</td>' for each in numbers)
        + f"<td>{others}</td></tr>"
    )


def show_counts(counts: Counter[tuple[str, str]], kinds: Sequence[str], what: str) -> None:
    """A table of numbers, kinds by columns."""
    columns = list(dict.fromkeys(column for _, column in counts))
    heads = "".join(f'<th scope="col" class="number">{escape(each)}</th>' for each in columns)
    lines = "".join(
        f'<tr><th scope="row">{escape(kind)}</th>'
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
        kinds = several("Kinds, primary or not", [kind.value for kind in sgp.FailureKind if kind in present], "kinds")
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
        "primary kind",
    )
    heads = ["where it went wrong", "domain", "problem", "model"]
    numbers = ["steps", "open goals: start", "best", "end"]
    st.html(
        STYLE
        + '<table class="failures list"><thead><tr>'
        + "".join(f'<th scope="col">{each}</th>' for each in heads)
        + "".join(f'<th scope="col" class="number">{each}</th>' for each in numbers)
        + '<th scope="col">also</th></tr></thead><tbody>'
        + "".join(row(*each) for each in shown[:MOST])
        + "</tbody></table>"
    )
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
        st.markdown("\n".join(f"- **{kind}**: {kind.definition}." for kind in sgp.FailureKind))
    if view == recorded:
        show_recorded()
    else:
        show_measured()


try:
    main()
except sgp.SgpError as error:
    st.error(str(error))
