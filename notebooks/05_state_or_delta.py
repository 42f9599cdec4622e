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
# # The next state, or the change?
#
# A state-centric model can predict the embedding of the next state (mode *state*) or its difference from the present
# one (mode *delta*). The better mode is not the same in every domain. This notebook looks at Gripper, where a model can
# agree with the expert in nearly every decision and fail.
#
# - **Paper:** "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric): columns of
#   Table 1
# - **Question:** which of the two is better, and why?
# - **The paper claims:** extrapolation, WL-XGBoost: delta .50 and state .25 in Blocksworld, 1.00 and .15 in VisitAll,
#   both .00 in Gripper and Logistics
# - **Measured here:** .20 and .45, .98 and .27, .06 and .06, .00 and .00. Goal count, which learns nothing, reaches
#   .05, 1.00 in VisitAll and 1.00 in Gripper, and .00
# - **What it means:** in Gripper and VisitAll a model that fails is worse than a planner without a model. Success there
#   shows little, and failure shows that predictions mislead the search
# - **Fast path:** a few minutes on two cores; hours of the full grid: notebook 03

# %% tags=["parameters"]
FAST = True  # the six smallest Gripper problems; False: all sixteen, and boosting as patient as published (two minutes)
SEED = 13  # of everything that is trained here; boosted trees do not depend on it

# %%
import os
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

import sgp

os.environ["OMP_NUM_THREADS"] = "1"  # boosting on so few rows is faster on one core than on two

# %% [markdown]
# ## What the tables say
#
# Our numbers are the committed ones, measured on the date that the next line prints; the paper's are its Table 1. They
# were measured on other instances of the same sizes.

# %%
MODELS = {"XGBoost": "wl-xgboost", "LSTM": "wl-lstm"}
measured = sgp.load_scores()
measured = measured[measured.suite == "state-centric"]
published = sgp.load_scores("published/state-centric")
published = published[published.table == "1"]
print(measured.note[measured.metric == "coverage"].iloc[0])


lines = {f"state-centric {key}-{mode}": f"{name} {mode}" for name, key in MODELS.items() for mode in ("delta", "state")}
both = pd.concat([measured, published])
both = both[(both.split == "extrapolation") & (both.metric == "coverage") & both["size"].isna()]
both = both.assign(
    panel=both.domain,
    line=both.planner.map(lines),
    series=both.paper.map(lambda paper: "published" if paper else "ours"),
)
order = {name: place for place, name in enumerate(lines.values())}
shown = sgp.experiments.pool_seeds(both[both.line.notna()], ["panel", "line", "series"]).sort_values(
    ["panel", "line", "series"], key=lambda names: names.map(lambda name: order.get(name, name)), kind="stable"
)
counts = ", ".join(f"{row.panel} {row.count}" for row in shown.drop_duplicates("panel").itertuples())
sgp.viz.rates(shown, f"State or delta, WL features, split extrapolation (n: {counts})")

# %% [markdown]
# Whether a mode wins depends on domain and model. The next cell says for each pair which mode is ahead, and whether the
# two intervals are apart: only then do the problems tried tell the modes apart.

# %%
value = {(row.panel, row.line, row.series): row for row in shown.itertuples()}
lines = []
for domain, model in dict.fromkeys((row.panel, row.line.split()[0]) for row in shown.itertuples()):
    row = {"domain": domain, "model": model}
    for who in ("ours", "published"):
        delta, state = (value[domain, f"{model} {mode}", who] for mode in ("delta", "state"))
        apart = max(delta.low, state.low) > min(delta.high, state.high)
        ahead = "delta" if delta.value > state.value else "state" if state.value > delta.value else "neither"
        row[who] = f"{ahead}{', apart' if apart else ''}"
    lines.append(row)
pd.DataFrame(lines)

# %% [markdown]
# ## Agreeing with the expert is not solving
#
# `sgp.diagnose` ranked, on the states of expert plans, the expert's successor among all that the embedding can tell
# apart. If the share of decisions in which it comes first explained coverage, the marks of every domain would rise from
# left to right.

# %%
whole = measured[measured["size"].isna() & (measured.split == "extrapolation")]
whole = whole[whole.variant.str.startswith("wl")]
table = whole.pivot_table(index=["domain", "planner"], columns="metric", values="value")
figure = go.Figure(layout={"template": "plotly_white", "title": "Agreement with the expert and coverage, WL features"})
for (domain, group), (colour, symbol) in zip(
    table.groupby("domain"),
    [("#000000", "circle"), ("#d55e00", "diamond-open"), ("#0072b2", "square"), ("#009e73", "triangle-up-open")],
    strict=True,
):
    figure.add_scatter(
        x=group.expert_top1,
        y=group.coverage,
        mode="markers",
        name=domain,
        text=group.index.get_level_values("planner"),
        hovertemplate="%{text}: %{x:.2f}, %{y:.2f}",
        marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
    )
figure.update_xaxes(title_text="share of decisions with the expert's successor first", range=[0, 1.02])
figure.update_yaxes(title_text="coverage, split extrapolation", range=[-0.05, 1.05])
figure

# %%
gripper = table.loc["gripper"].sort_values("expert_top1")
agreement = gripper.expert_top1.corr(gripper.coverage, method="spearman")
print(f"Gripper: rank correlation of agreement and coverage over {len(gripper)} planners: {agreement:.2f}")
gripper[["expert_top1", "expert_top3", "perfect_coverage", "coverage"]].round(2)

# %% [markdown]
# In Gripper they do not: the planner that agrees most often with the expert is not the one that solves. Two reasons
# are known. The expert of the larger problems is no optimal planner, and carrying two balls where it carries one counts
# as disagreement. And an average over decisions hides *which* decisions are wrong. Column `perfect_coverage` says what
# greedy decoding solves when every prediction is the expert's next embedding: features and decoding allow everything.
#
# ## Which decisions are wrong
#
# We train both modes. Boosting stops early, after so many rounds without a better error on the validation problems.

# %%
suite = sgp.load_suite("state-centric")
experts = sgp.trajectories(suite, "gripper", "extrapolation")[: 6 if FAST else None]
settings = {"boosting.patience": "3"} if FAST else {}  # the paper's 10 ends with the same trees here, and later
runs = {
    mode: sgp.train("state-centric", "gripper", suite.name, f"wl-xgboost-{mode}", SEED, overrides=settings)
    for mode in ("delta", "state")
}
runs["zero change"] = sgp.train("zero-change", "gripper", suite.name, "wl", SEED)
runs["contrastive delta"] = sgp.train("contrastive-delta", "gripper", suite.name, "wl", SEED)
planners = {name: sgp.load_planner(run.folder) for name, run in runs.items()}
for name in ("delta", "state"):
    print(f"mode {name}: {runs[name].record['facts']['rounds']} rounds of boosting kept")

# %% [markdown]
# Beside them stand two predictors of the change, methods of their own: `zero-change` predicts that nothing changes,
# `contrastive-delta` is a linear map of the same features, trained by a contrastive loss. For each kind of decision
# (the expert's action, after the one before it) the table has the share in which the expert's successor comes first.

# %%
frames = []
for name, planner in planners.items():
    made, missed = sgp.analysis.decisions(planner, experts), sgp.analysis.predictions(planner, experts)
    rows = [
        asdict(each) | {"sure": each.sure, "top1": decision.top1} for decision, each in zip(made, missed, strict=True)
    ]
    frames.append(pd.DataFrame(rows).assign(predictor=name))
found = pd.concat(frames, ignore_index=True)
found["decision"] = found.before.replace("", "start") + " → " + found.action
kinds = found.pivot_table(index="decision", columns="predictor", values="top1", sort=False)[list(planners)].round(2)
kinds.insert(0, "n", found[found.predictor == "delta"].groupby("decision").size())
kinds

# %% [markdown]
# Where a predictor has 0 in a row, it fails in every decision of this kind, and these are no small matter: `start →
# pick` is the first decision of every plan, and with `pick → pick` the robot takes a second ball. A planner that gets
# the frequent kinds right and the first decision wrong has a good average, and begins every plan with a mistake.

# %%
first = kinds.drop(columns="n").iloc[0]
print("right in the first decision:", ", ".join(f"{name} {share:.2f}" for name, share in first.items()))

# %% [markdown]
# ## How far off predictions are
#
# Decoding takes the candidate nearest to the prediction. If the prediction misses the expert's next state by less than
# half of the *gap* to the nearest other candidate, no other one can win. Beyond that it can still come out right, by
# luck or because the error points the right way. In mode *state* candidates are compared by angle: there all vectors
# are scaled to length one first.

# %%
found["quotient"] = found.error / found.gap
open_ = found[np.isfinite(found.gap)]
figure = go.Figure(
    layout={"template": "plotly_white", "title": "Error of the prediction over the gap between candidates, Gripper"}
)
for (name, dash), (colour, symbol) in zip(
    {"delta": "solid", "state": "dash", "zero change": "dot", "contrastive delta": "dashdot"}.items(),
    [("#0072b2", "square"), ("#d55e00", "diamond-open"), ("#000000", "x"), ("#009e73", "triangle-up-open")],
    strict=True,
):
    middle = open_[open_.predictor == name].groupby("size").quotient.median()
    figure.add_scatter(
        x=middle.index,
        y=middle,
        name=name,
        mode="lines+markers",
        line={"dash": dash, "color": colour},
        marker={"symbol": symbol, "size": 9},
    )
figure.add_scatter(x=[*middle.index], y=[0.5] * len(middle), name="half a gap", mode="lines", line={"color": "#7f7f7f"})
figure.update_xaxes(title_text="objects")
figure.update_yaxes(title_text="median of error / gap", type="log")
figure

# %%
summary = open_.groupby("predictor", sort=False).agg(
    decisions=("quotient", "size"), median=("quotient", "median"), sure=("sure", "mean"), first=("top1", "mean")
)
summary.round(2).rename(columns={"median": "median error / gap", "sure": "surely right", "first": "expert's first"})

# %% [markdown]
# The contrastive prediction is the farthest off of all: its loss never asked it to be near, only to be nearer to the
# right candidate than to the others. What counts is on which side the error lies. `surely right` says how seldom the
# size of the error alone guarantees the decision.
#
# In mode *state* the target grows with the problem: the trees answer with counts that they met in training, of at most
# eight balls, and miss by several gaps; only the direction of the error is left to decide. A change has the same size
# in a problem of any size. This is why *delta* carries further where it is good. It has a weakness of its own: squared
# error rewards the mean of all targets, and boosting that stops after few small steps stays close to it. The next table
# shows the first decision of the plans. Its other candidate is to drive away with empty hands, which (the cell after it
# says why) leaves the embedding as it was and so lies `predicted_change` from the prediction; the expert's lies `error`
# from it. The smaller of the two wins.

# %%
start = found[(found.decision == "start → pick") & found.predictor.isin(["delta", "zero change"])]
start.groupby("predictor")[["change", "predicted_change", "error", "gap"]].median().round(2)

# %% [markdown]
# And some changes are none: in larger problems the colours of a room with many balls were never met in training and
# count nowhere, so that driving from one room to the other leaves the embedding as it was.

# %%
moves = found[(found.predictor == "delta") & (found.action == "move")]
still = float((moves.change == 0).mean())
low, high = sgp.wilson(still, len(moves))
print(f"{still:.2f} [{low:.2f}, {high:.2f}] of {len(moves)} moves of the expert do not change the embedding")

# %% [markdown]
# A prediction that shrinks towards the mean, and so towards no change at all, is nearer to a candidate that changes
# nothing.
#
# ## What decides Gripper
#
# The linear predictor sees the same features; its loss asks that the right candidate is nearer than its siblings, not
# that the mean miss is small. Whether the *loss* matters is one question. Another is what a state contains: in the
# published implementation, training states have their static atoms and test states have lost them by accident
# (`03_table_1` switches on its decoding mistakes one at a time). So we solve the same problems with the same models,
# with static atoms and without. In the state-centric method this is the decoding `no-statics`; the other two methods
# have none of this name, and here the encoder is exchanged in all of them alike. Every plan counted was accepted by
# VAL.


# %%
def without_static(planner):
    """The planner with the embeddings of states that have lost their static atoms."""
    return replace(planner, policy=replace(planner.policy, encoder=planner.policy.encoder.without_static()))


def solved(planner):
    """How many of the problems are solved, VAL being the judge."""
    rollouts = planner.solve_many([each.task for each in experts])
    return sum(each.solved and sgp.validate(each.task.problem, each.plan).valid for each in rollouts)


tried = [name for name in planners if not FAST or name != "state"]
decoded = [
    ("Gripper, larger problems", name, atoms, solved(planner) / len(experts), len(experts))
    for name in tried
    for atoms, planner in (
        ("with static atoms", planners[name]),
        ("without static atoms", without_static(planners[name])),
    )
]
decoded = pd.DataFrame(decoded, columns=["panel", "line", "series", "value", "count"])
sgp.viz.rates(decoded, f"Coverage of the same models, with and without static atoms (n = {len(experts)})")

# %% [markdown]
# Look at the line of the predictor that learned nothing. If it solves problems once static atoms are gone, then solving
# them is no sign that something was learned: without the atoms that say what is a ball and what is a room, far more
# colours are unseen (the next cell counts), few features are left to tell candidates apart, and a beam over these finds
# the way.

# %%
share = {
    atoms: np.mean(list(sgp.analysis.unseen_features(planner, experts).values()))
    for atoms, planner in (
        ("with", planners["zero change"]),
        ("without", without_static(planners["zero change"])),
    )
}
for atoms, unseen in share.items():
    print(f"{unseen:.2f} of the features of expert states are unseen {atoms} static atoms")

# %% [markdown]
# So three things explain Gripper. The published WL-XGBoost delta solves none because its loop over the beam ends when
# the first of the beams has no unvisited successor; mended, it would solve problems that predicting no change solves as
# well. Ours keeps the static atoms, so that the prediction decides, and the prediction, shrunk towards the mean, takes
# a wrong first step. The contrastive loss with the same features does not.
#
# ## The step in the player
#
# A recorded rollout of WL-XGBoost delta (all sixteen problems are there in `sgp.load_attempts`), at the step from
# which nothing gets better.

# %%
failed = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.variant) == ("gripper", "wl-xgboost-delta") and each.head["outcome"] == "horizon"
)
failure = sgp.analysis.failure_of(failed)
print(f"{failed.head['name']}: {failure.primary.kind} at step {failure.primary.step}")
print(f"({failure.primary.kind.definition})")
sgp.show(failed, step=failure.primary.step)

# %%
sgp.viz.link(failed, failure.primary.step)

# %% [markdown]
# ## Our numbers beside the paper's

# %%
titles = [f"state-centric {key}-{mode}" for key in MODELS.values() for mode in ("delta", "state")]
both = pd.concat([measured, published])
sgp.experiments.coverage_table(both[both.planner.isin(titles)], "State or delta, all splits")

# %% [markdown]
# ## Exercises
#
# 1. Predicting no change at all solves .43 of VisitAll's extrapolation and nothing in Gripper. Why the difference?
#
#    <details><summary>Solution</summary>
#
#    Taking the successor most similar to the current state and never visiting a state twice walks through a grid and so
#    visits cells. In Gripper it moves the robot and never carries a ball to its goal.
#
#    </details>
#
# 2. Change the beam of the decoding to one (`default+beam=1`) and predict which of the planners change.
#
#    <details><summary>Solution</summary>
#
#    Those that depend on alternatives: with one path a wrong first step is never corrected. Goal count falls from 1.00
#    to .00 in Gripper.
#
#    </details>
#
# 3. Boosting stops early in mode delta. What does shrinking towards the mean do to a prediction of differences?
#
#    <details><summary>Solution</summary>
#
#    It predicts too small a change, so successors that change little are nearest. In mode state the same error is
#    relative to the whole vector.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - Which planner without a model would you put into Table 1?
# - Is agreement with an expert a useful measure where many plans are optimal?
#
# **Sixty minutes.** 10 minutes: the card and the tables. 15: agreement with the expert. 15: how far off predictions
# are. 20: exercises 1 and 2. Skip the player.
