# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How far does it carry?
#
# Coverage of a split is an average over sizes. This notebook shows coverage over size, with intervals, for several
# planners from committed attempts; then what one planner, trained on the same small problems, does on problems far
# larger than any of these.

# %% tags=["parameters"]
FAST = True  # solve the rows of LIVE; False: every row of suite "harder", about three minutes
LIVE = {"blocksworld": ("20-blocks", "34-blocks")}  # rows of suite "harder" that are solved here and now
SEED = 13  # of the states that contrastive jumps draw for their labels

# %%
import pandas as pd
from plotly.subplots import make_subplots

import sgp

# %% [markdown]
# ## Coverage over size
#
# Every attempt of the committed measurement, splits validation, interpolation and extrapolation together; the latter
# has the largest problems. The first four planners are shown; a click in the legend shows or hides one.

# %%
PLANNERS = (
    ("contrastive_jumps", "aiw"),
    ("state-centric", "wl-xgboost-delta"),
    ("state-centric", "wl-lstm-state"),
    ("fast-downward", "astar-lmcut"),
    ("state-centric", "fsf-xgboost-delta"),
    ("zero-change", "wl"),
)
attempts = [each for each in sgp.measured_attempts() if each.suite == "state-centric"]
chosen = [each for planner in PLANNERS for each in attempts if (each.method, each.variant) == planner]
print(next(each.note for each in sgp.measured() if each.suite == "state-centric" and each.metric == "coverage"))
print(f"{len(chosen)} attempts, {len({(each.domain, each.problem, each.split) for each in chosen})} problems")
sgp.coverage_over_size(chosen)

# %% [markdown]
# Sizes have few problems each, and bands are wide: a planner that solves 4 of 4 may fail on half of them. For each
# planner, the largest size up to which it solved everything it was given says where it begins to fail (empty: at once):

# %%
rows = pd.DataFrame([vars(each) | {"solved": each.solved} for each in chosen])
rows["planner"] = rows.method + " " + rows.variant
all_solved = rows.groupby(["planner", "domain", "size"]).solved.all()
reach = all_solved.groupby(["planner", "domain"]).apply(
    lambda group: group[group.cummin()].index.get_level_values("size").max()
)
largest = rows.groupby("domain")["size"].max().rename("largest size tried")
pd.concat([largest, reach.unstack("planner")[[" ".join(each) for each in PLANNERS]]], axis=1).astype("Int64")

# %% [markdown]
# ## The harder suite
#
# Suite `harder` has problems far beyond the paper's sizes: five a row, no limit but the horizon. Training problems are
# the same as before: at most seven blocks, eight balls, two cities, sixteen cells. These are committed scores.

# %%
harder = [each for each in sgp.measured() if each.suite == "harder"]
print(harder[0].note)
committed = pd.DataFrame([vars(each) for each in harder if each.size is None]).pivot_table(
    index=["domain", "split"], columns="metric", values="value"
)
rates = {(each.domain, each.split): each for each in harder if each.metric == "coverage" and each.size is None}
sizes = {(each.domain, each.split): each.size for each in harder if each.size is not None}
committed["objects"] = [sizes[row] for row in committed.index]
bounds = [sgp.wilson(rates[row].value, rates[row].count) for row in committed.index]
committed["95 % interval"] = [f"[{low:.2f}, {high:.2f}]" for low, high in bounds]
committed["n"] = [rates[row].count for row in committed.index]
committed = committed.sort_values(["domain", "objects"])
committed[["objects", "n", "coverage", "95 % interval", "plan_length", "decisions", "seconds"]].round(2)

# %% [markdown]
# ## The same, live
#
# One model, trained here on the problems of up to seven blocks, solves some rows of the suite. Every plan counted was
# accepted by VAL.

# %%
suite = sgp.load_suite("harder")
live = LIVE if FAST else {name: tuple(domain.splits) for name, domain in suite.domains.items()}
found = {}
for domain, splits in live.items():
    run = sgp.train("contrastive_jumps", domain, "state-centric", "aiw", SEED)
    for (_, split), tried in sgp.evaluate([run.folder], suite.name, splits).attempts.items():
        found[domain, split] = tried
solved = pd.DataFrame(
    [
        {
            "domain": domain,
            "row": split,
            "problem": each.problem,
            "objects": each.size,
            "solved": each.solved,
            "actions": len(each.plan) if each.solved else None,
            "seconds": each.seconds,
        }
        for (domain, split), tried in found.items()
        for each in tried
    ]
)
solved.round(2)

# %% [markdown]
# Plan length and seconds over size. Lines are the committed means of a row's solved problems, hollow marks what was
# just solved on this machine, a problem each. Both axes are logarithmic, so that a straight line is a power of the
# size.

# %%
figure = make_subplots(1, 2, subplot_titles=("actions of the plan", "seconds a problem"), horizontal_spacing=0.12)
STYLES = {
    "blocksworld": ("#000000", "circle", "solid"),
    "gripper": ("#d55e00", "diamond", "dash"),
    "logistics": ("#0072b2", "square", "dot"),
    "visitall": ("#009e73", "triangle-up", "dashdot"),
}
for domain, (colour, symbol, dash) in STYLES.items():
    group = committed.loc[domain].sort_values("objects")
    for column, metric in enumerate(("plan_length", "seconds"), start=1):
        figure.add_scatter(
            x=group.objects,
            y=group[metric],
            text=group.index,
            hovertemplate="%{text}: %{y:.2f}",
            mode="lines+markers",
            name=domain,
            legendgroup=domain,
            showlegend=column == 1,
            line={"color": colour, "dash": dash},
            marker={"symbol": symbol, "size": 9},
            row=1,
            col=column,
        )
for domain, group in solved[solved.solved].groupby("domain"):
    for column, metric in enumerate(("actions", "seconds"), start=1):
        figure.add_scatter(
            x=group.objects,
            y=group[metric],
            mode="markers",
            name=f"{domain}, live",
            legendgroup=f"{domain}, live",
            showlegend=column == 1,
            marker={"symbol": f"{STYLES[domain][1]}-open", "color": STYLES[domain][0], "size": 12},
            row=1,
            col=column,
        )
figure.update_xaxes(type="log", title_text="objects", tickvals=[20, 50, 100, 200, 500, 1000, 2000])
figure.update_yaxes(type="log", dtick=1)
figure.update_yaxes(title_text="actions", col=1, row=1)
figure.update_yaxes(title_text="seconds", col=2, row=1)
figure.update_layout(template="plotly_white", title="Contrastive jumps on suite harder", height=460)
figure

# %% [markdown]
# ## Beyond a handful of problems a size
#
# Five problems a row say that something is possible, not how often: 5 of 5 is compatible with any coverage above the
# lower end of its interval.

# %%
for n in (5, 20, 100):
    low, _ = sgp.wilson(1.0, n)
    print(f"{n} of {n}: 95 % interval from {low:.2f}")

# %% [markdown]
# ## Our numbers beside the paper's
#
# The paper has no table over sizes; its split extrapolation is the largest that it tries (its Table 1, and for the
# sizes its Table 5).

# %%
ours = [
    each for each in sgp.measured() if each.suite == "state-centric" and (each.method, each.variant) in PLANNERS[:5]
]
theirs = [each for each in sgp.published("state-centric") if each.table == "1"]
sgp.coverage_sheet(ours, theirs, "Coverage on the larger problems", splits=("extrapolation",))

# %% [markdown]
# And a problem of that split, solved, in the player and in the dashboard: a step in the middle, where
# what was reached and what is open can be seen side by side.

# %%
shown = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.variant) == ("blocksworld", "aiw") and each.head["outcome"] == "solved"
)
sgp.show(shown, step=len(shown.steps) // 2)

# %%
sgp.link(shown, len(shown.steps) // 2)
