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
# # Dynamic validation and scaling to larger problems
#
# Coverage of a split is an average over sizes. This notebook shows coverage over size: how the paper's three
# validations select a planner, how many problems a size needs, what planners reach when every size gets that many, and
# problems far larger than all of these.
#
# - **Paper:** "Per-Domain Generalizing Policies: On Validation Instances and Scaling Behavior" (dynamic-validation):
#   Tables 1 to 3
# - **Question:** does validation on generated problems of growing size select planners that solve larger problems?
# - **The paper claims:** Table 1, Scale of the planner selected by loss, by coverage and by dynamic validation:
#   Blocksworld 56, 24, 59; Gripper 40, 27, 74; Logistics 13, 15, 29. Dynamic validation is best in all nine domains
# - **Measured here:** contrastive jumps with one seed, selected in the same three ways: Scale at least the paper's in
#   all nine domains where dynamic validation selects. In Blocksworld 46, 46 and at least 59; in most other domains the
#   three nearly coincide. The paper's GNN is trained live below, and how far it scales was not measured here
# - **What differs:** another learner; curves cut by a limit on hours or size (marked ≥); ten problems a size for
#   training where the paper has up to a hundred
# - **Fast path:** about two minutes on two cores

# %% tags=["parameters"]
FAST = True  # False: every row of suite "harder", about three minutes, and the live curve as sure as the paper's
LIVE = {"blocksworld": ("20-blocks", "34-blocks")}  # rows of suite "harder" that are solved here and now
SHORT = 12  # most actions of the live curve, beside one for each object: few, so that it falls within seconds
SEED = 13  # of the states that contrastive jumps draw for their labels

# %%
import re
from collections import Counter

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from IPython.display import HTML, display
from plotly.subplots import make_subplots

import sgp

# %% [markdown]
# ## What was measured, beside Table 1
#
# *Scale* is the largest size at which coverage reaches .3, *SumCov* the sum of coverages up to it. ≥: the curve was cut
# before coverage was below .3 for two sizes in a row. n is the number of problems along a curve; each size has as many
# as a 90 % interval of .05 needs.

# %%
scaling = sgp.load_scores("measured/scaling")
theirs = sgp.load_scores("published/dynamic-validation")
both = pd.concat([scaling, theirs[theirs.table == "1"]])
sgp.experiments.paper_table("dynamic-validation", 1, scaling)

# %% [markdown]
# The curves in two domains where the validations differ most, and one where they coincide. A band is the 95 % Wilson
# interval of each size. The dashed lines are the Scales as published.

# %%
SHOWN = ("blocksworld", "transport", "rovers")
sgp.viz.scaling_curves(both[both.domain.isin(SHOWN)])

# %%
tables = [sgp.experiments.paper_table("dynamic-validation", number, scaling) for number in (2, 3)]
HTML("".join(f"<details><summary>{table.title}</summary>{table.html()}</details>" for table in tables))

# %% [markdown]
# ## Dynamic validation live, with the paper's GNN
#
# The paper's relational network predicts the distance to the goal from the states of optimal plans; the planner moves
# to the successor of lowest value. An illustration: eight layers in place of thirty, a few epochs, a few problems a
# size. After each epoch the network is validated in three ways; each selects an epoch (`selected`), and each selected
# planner is a run of its own.

# %%
GNN = {
    "shape.layers": "8",
    "shape.hidden": "16",
    "training.epochs": "4" if FAST else "100",
    "training.batch": "64",
    "training.learning_rate": "0.002",
}
SIZES = sgp.experiments.DynamicConfig(problems=3, multiples=(1.25, 1.5, 2), seconds=0.3 if FAST else 10)
networks = {
    domain: sgp.experiments.train_jointly("gnn-value", domain, "scaling", seed=SEED, overrides=GNN, config=SIZES)
    for domain in (("gripper",) if FAST else ("gripper", "blocksworld"))
}
display(*(sgp.experiments.joint_table(each, f"{domain}: every epoch") for domain, each in networks.items()))

# %% [markdown]
# The three scores by epoch. Loss is the mean error of the predicted distance in actions, on the paper's validation
# sizes. Coverage is that of problems of these sizes (at most twelve); dynamic is the mean coverage of three larger
# sizes,
# three problems each. Where loss falls and coverage does not rise, they select different epochs. So
# short a training solves almost nothing: the illustration shows the procedure, not its result.

# %%
rows = [
    (f"{domain}: {panel}", name, epoch, value, low, high, n)
    for domain, network in networks.items()
    for epoch, each in enumerate(network.checkpoints, start=1)
    for panel, name, value, n in (
        ("coverage", "coverage", each.coverage, len(sgp.load_suite("scaling").problems(domain, "validation"))),
        ("coverage", "dynamic", each.dynamic / 3, 9),
    )
    for low, high in [sgp.wilson(value, n)]
]
frame = pd.DataFrame(rows, columns=["panel", "planner", "x", "value", "low", "high", "n"])
sgp.viz.curves(frame, "Validation of the GNN by epoch, with 95 % Wilson intervals", "epoch", "coverage")

# %%
pd.DataFrame(
    {
        domain: {f"epoch selected by {by}": 1 + place for by, place in network.selected.items()}
        | {"least loss": min(each.loss for each in network.checkpoints)}
        for domain, network in networks.items()
    }
).T.round(2)

# %% [markdown]
# ## Coverage over size
#
# Every attempt of the committed measurement, splits validation, interpolation and extrapolation together; the latter
# has the largest problems. One panel a domain; the first four planners are shown.

# %%
PLANNERS = (
    "contrastive-jumps aiw",
    "state-centric wl-xgboost-delta",
    "state-centric wl-lstm-state",
    "fast-downward astar-lmcut",
    "state-centric fsf-xgboost-delta",
    "zero-change wl",
)
scores, attempts = sgp.load_scores(), sgp.load_attempts()
attempts = attempts[attempts.suite == "state-centric"]
chosen = pd.concat([attempts[attempts.planner == planner] for planner in PLANNERS])
print(scores.note[(scores.suite == "state-centric") & (scores.metric == "coverage")].iloc[0])
print(f"{len(chosen)} attempts, {len(chosen[['domain', 'problem', 'split']].drop_duplicates())} problems")
sgp.viz.coverage_over_size(chosen)

# %% [markdown]
# Sizes have few problems each, and bands are wide: a planner that solves 4 of 4 may fail on half of them. For each
# planner, the largest size up to which it solved everything it was given says where it begins to fail (empty: at once):

# %%
all_solved = chosen.groupby(["planner", "domain", "size"]).solved.all()
reach = all_solved.groupby(["planner", "domain"]).apply(
    lambda group: group[group.cummin()].index.get_level_values("size").max()
)
largest = chosen.groupby("domain")["size"].max().rename("largest size tried")
pd.concat([largest, reach.unstack("planner")[[*PLANNERS]]], axis=1).astype("Int64")

# %% [markdown]
# ## How many problems does a size need?
#
# A handful of problems says that something is possible, not how often: 5 of 5 is compatible with any coverage above the
# lower end of its interval.

# %%
for n in (5, 20, 100):
    low, _ = sgp.wilson(1.0, n)
    print(f"{n} of {n}: 95 % interval from {low:.2f}")

# %% [markdown]
# The paper generates problems of a size until their coverage is known well enough: until, with confidence .9, it is
# within epsilon = .05. That is the rule of Chow and Robbins with Student's t: after n results of rate p, half the
# interval is t * sqrt((p (1 - p) + 1/n) / n), and the first n at which it is at most epsilon is enough. The term 1/n
# keeps two equal results from being enough: there are never fewer than 34. Rates near one half need 277.

# %%
rule = sgp.experiments.ScalingConfig()
counts = np.arange(2, 300)
figure = go.Figure()
for rate, dash in ((0.5, "solid"), (0.8, "dash"), (0.9, "dashdot"), (1.0, "dot")):
    wide = sgp.analysis.half_width(np.full(len(counts), rate), counts, rule.kappa)
    enough = counts[wide <= rule.epsilon][0]
    print(f"rate {rate}: {enough} results are enough")
    figure.add_scatter(x=counts, y=wide, name=f"rate {rate}", line={"dash": dash})
figure.add_hline(y=rule.epsilon, annotation_text="epsilon", line_width=1)
figure.update_xaxes(title_text="results")
figure.update_yaxes(title_text="half width", range=[0, 0.3])
figure.update_layout(template="plotly_white", title="Half width of the interval over results, by rate", height=380)
figure

# %% [markdown]
# ## A curve, live
#
# One planner, trained here, on problems that are generated here, from the smallest size on, until coverage is below .3
# at two sizes in a row. The bound on actions is kept short, so that it is the bound that ends it, and soon: the
# planner solves nearly everything when it may take the actions it needs (above). The fast path asks for epsilon = .1.

# %%
run = sgp.train("contrastive-jumps", "blocksworld", "state-centric", "aiw", SEED)
config = sgp.experiments.ScalingConfig(epsilon=0.1) if FAST else rule
curve = sgp.experiments.scaling(run.folder, config, bound=SHORT)
print(f"Scale {curve.scale}, SumCov {curve.sumcov:.2f}; {curve.note}")
live_sizes = pd.DataFrame(
    [
        {
            "objects": each.size,
            "most actions": each.max_actions,
            "problems": len(each.attempts),
            "coverage": each.coverage,
            "half width": sgp.analysis.half_width(
                np.array([each.coverage]), np.array([len(each.attempts)]), config.kappa
            )[0],
            "mean actions": np.mean([len(attempt.plan) for attempt in each.attempts if attempt.solved] or [np.nan]),
        }
        for each in curve.points
    ]
).round(2)
live_sizes

# %% [markdown]
# Left the curve; right the half width of three sizes' intervals after each result. Where a line meets epsilon, no more
# problems are generated.

# %%
figure = make_subplots(1, 2, subplot_titles=("coverage over size", "half width over results"), horizontal_spacing=0.12)
figure.add_scatter(
    x=live_sizes["objects"],
    y=live_sizes["coverage"],
    error_y={"type": "data", "array": live_sizes["half width"]},
    name="contrastive jumps",
    row=1,
    col=1,
)
figure.add_hline(y=config.threshold, line={"dash": "dot", "width": 1}, annotation_text="threshold", row=1, col=1)
shown_sizes = [*sorted(curve.points, key=lambda each: abs(each.coverage - 0.5))[:2], curve.points[0]]
for each, dash in zip(shown_sizes, ("solid", "dash", "dot"), strict=False):
    counts = np.arange(1, len(each.attempts) + 1)
    solved = np.cumsum([attempt.solved for attempt in each.attempts]) / counts
    wide = sgp.analysis.half_width(solved, counts, config.kappa)[1:]
    name = f"{each.size} objects, in the end {each.coverage:.2f}"
    figure.add_scatter(x=counts[1:], y=wide, name=name, mode="lines", line={"dash": dash}, row=1, col=2)
figure.add_hline(y=config.epsilon, line_width=1, annotation_text="epsilon", row=1, col=2)
figure.update_xaxes(title_text="objects", row=1, col=1)
figure.update_xaxes(title_text="results", row=1, col=2)
figure.update_yaxes(range=[0, 1.05], row=1, col=1)
figure.update_yaxes(range=[0, 0.5], row=1, col=2)
figure.update_layout(
    template="plotly_white",
    title="Coverage over size with at most 12 + n actions, and half widths of intervals",
    height=420,
)
figure

# %% [markdown]
# ## Plan length over size
#
# Coverage counts plans of at most bound + n actions, dotted below; a planner whose plans come near it fails next not
# because its plans lead nowhere but because they are long.

# %%
sgp.viz.scaling_curves(both[both.domain.isin(SHOWN)], "plan_length")

# %% [markdown]
# ## What bounds every planner
#
# The bound on actions grows by one action an object, and in some domains the shortest plans grow by more. Ferry: a car
# must be boarded, sailed and debarked, which makes three actions; and where more cars arrive than leave, the ferry
# leaves empty, but for the place where it ends. No plan is shorter than that sum, so the share of problems whose sum
# keeps the bound is an upper bound on the coverage of every planner. Both are estimated on samples, so that a measured
# curve can lie above the estimate at single sizes.

# %%
domain = sgp.get_domain("ferry")
bound = sgp.experiments.scaling_sizes(domain.name)["bound"]


def least_actions(pddl):
    """What no plan of a problem is shorter than."""
    start, wanted = (dict(re.findall(r"\(at (\w+) (\w+)\)", part)) for part in pddl.split("(:goal"))
    arriving = Counter(wanted.values())
    arriving.subtract(start[car] for car in wanted)
    empty = sum(more for more in arriving.values() if more > 0)
    return 3 * len(wanted) + max(0, empty - 1)


rng = np.random.default_rng(SEED)
rows = []
for size in range(10, 301, 10):
    least = [least_actions(domain.generate_size(rng, size)) for _ in range(100)]
    share = np.mean([actions <= bound + size for actions in least])
    low, high = sgp.wilson(share, len(least))
    rows.append({"objects": size, "most actions": bound + size, "ceiling": share, "low": low, "high": high})
ceiling = pd.DataFrame(rows)
ceiling[ceiling["objects"] % 50 == 0].round(2)

# %%
figure = go.Figure()
figure.add_scatter(
    x=ceiling["objects"],
    y=ceiling["ceiling"],
    error_y={
        "type": "data",
        "symmetric": False,
        "array": ceiling["high"] - ceiling["ceiling"],
        "arrayminus": ceiling["ceiling"] - ceiling["low"],
    },
    name="ceiling, n = 100",
)
measured = scaling[(scaling.domain == domain.name) & (scaling.metric == "coverage") & scaling["size"].notna()]
for (by, line), dash in zip(measured.groupby("selected_by", sort=False), ("solid", "dash", "dot"), strict=False):
    figure.add_scatter(x=line["size"], y=line["value"], name=by, line={"dash": dash})
best = theirs[(theirs.domain == domain.name) & (theirs.selected_by == "dynamic") & (theirs.metric == "scale")]
best = best["value"].iloc[0]
figure.add_vline(x=best, line={"dash": "dash", "width": 1}, annotation_text=f"published Scale {best:g}")
figure.add_hline(y=rule.threshold, line={"dash": "dot", "width": 1}, annotation_text="threshold")
figure.update_xaxes(title_text="objects")
figure.update_yaxes(title_text="share", range=[0, 1.05])
figure.update_layout(
    template="plotly_white", title="Ferry: share of problems with few enough actions, and measured coverage", height=420
)
figure

# %% [markdown]
# For large sizes only problems with few cars can keep the bound, little more than a third of all: a ceiling just above
# the threshold of .3. That the published curve "stabilized above the threshold" (caption of the paper's Figure 2) says
# as much about the bound as about the planner. Where a curve falls, look at the share of problems with a known plan
# within the bound (dotted in the plots above, where it says more than coverage) before blaming the planner.

# %% [markdown]
# ## The harder suite
#
# Suite `harder` has problems far beyond the paper's sizes: ten different ones a row, no limit but the horizon. Training
# problems are the same as before: at most seven blocks, eight balls, two cities, sixteen cells. These are committed
# scores, means over five seeds; the interval is that of ten problems, whatever the number of seeds.

# %%
harder = scores[(scores.suite == "harder") & (scores.split != "") & scores["size"].isna()]
print(harder.note.iloc[0])
committed = harder.pivot_table(index=["domain", "split"], columns="metric", values="value")
covered = harder[(harder.planner == "contrastive-jumps aiw") & (harder.metric == "coverage")]
rows = sgp.experiments.pool_seeds(covered, ["domain", "split"]).set_index(["domain", "split"]).loc[committed.index]
larger = sgp.load_suite("harder").domains
committed["objects"] = [max(each.size for each in larger[domain].splits[row]) for domain, row in committed.index]
committed[["n", "seeds", "± over seeds"]] = rows[["n", "seeds", "spread"]]
committed["95 % interval"] = [f"[{row.low:.2f}, {row.high:.2f}]" for row in rows.itertuples()]
committed = committed.sort_values(["domain", "objects"])
shown = ["objects", "n", "seeds", "coverage", "± over seeds", "95 % interval", "plan_length", "decisions", "seconds"]
committed[shown].round(2)

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
    run = sgp.train("contrastive-jumps", domain, "state-centric", "aiw", SEED)
    for (_, _, split), tried in sgp.evaluate([run.folder], suite.name, splits).attempts.items():
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
# ## Our numbers beside the state-centric paper's
#
# That paper has no table over sizes; its split extrapolation is the largest that it tries (its Table 1, and for the
# sizes its Table 5).

# %%
ours = scores[(scores.suite == "state-centric") & scores.planner.isin(PLANNERS[:5])]
printed = sgp.load_scores("published/state-centric")
both = pd.concat([ours, printed[printed.table == "1"]])
sgp.experiments.coverage_table(both, "Coverage on the larger problems", splits=("extrapolation",))

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
sgp.viz.link(shown, len(shown.steps) // 2)

# %% [markdown]
# ## The full result
#
# ```sh
# sgp scaling --method contrastive-jumps --domain D --by loss --csv curves.csv       # and coverage, and dynamic
# sgp scaling --method gnn-value --domain D                                          # the paper's learner
# sgp grid --suite harder --trained-on state-centric --variants contrastive-jumps:aiw --seeds 13,14,15,16,17
# ```
#
# The hours of the committed curves were not recorded: they were cut by limits on size or hours. The GNN was not
# measured.
# The planning of suite `harder`, in hours of one core:

# %%
tried = sgp.load_attempts()
tried[tried.suite == "harder"].groupby("domain").seconds.sum().div(3600).to_frame("hours").round(2)

# %% [markdown]
# ## Exercises
#
# 1. Twenty problems of a size are all solved. What is the lower end of the 95 % interval, and how many problems make it
#    .95?
#
#    <details><summary>Solution</summary>
#
#    `sgp.wilson(1.0, 20)` is [.84, 1.00]. The lower end is n / (n + 3.84), so n = 73.
#
#    </details>
#
# 2. Change `threshold` of `SIZES` from .3 to .8 and predict: does dynamic validation try more or fewer sizes?
#
#    <details><summary>Solution</summary>
#
#    Fewer: it ends at the first size with coverage of at most the threshold. The score no longer distinguishes planners
#    that fail at that size from those that still solve a few.
#
#    </details>
#
# 3. In Rovers, Satellite and Logistics the three validations select planners with nearly equal curves. Does that
#    contradict the paper?
#
#    <details><summary>Solution</summary>
#
#    No. The paper's claim is about checkpoints of a GNN. The candidates here are settings of a linear ranker that all
#    generalize, so there is little to select.
#
#    </details>
#
# 4. Why does the measured curve of Ferry fall although the planner reaches the goal of every problem with more actions?
#
#    <details><summary>Solution</summary>
#
#    A plan for n objects may have L + n actions, and Ferry needs about three actions a car. Beyond some size most
#    problems have no plan within the bound.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - The bound L + n defines what Scale measures. Which bound would you choose for a domain whose plans grow
#   quadratically?
# - Dynamic validation needs a generator. What could replace it where only a fixed set of problems exists?
# - Is the sum of coverages a good score? Compare two planners of equal SumCov and different Scale.
#
# **Sixty minutes.** 10 minutes: the card, Table 1 and the curves. 15: the GNN live. 10: how many problems a size needs.
# 10: what bounds every planner. 15: exercises 2 and 3. Skip the harder suite and the live curve.
