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
# # Why Logistics fails, step by step
#
# This notebook follows the failure down: the rank of the expert's successor among the candidates, states that the
# features cannot distinguish whatever the number of rounds, a failed rollout, and the ingredient that repairs it.
#
# - **Paper:** "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric): Logistics in
#   Table 1
# - **The paper claims:** no variant solves one of the larger Logistics problems; A* with LM-cut solves .26
# - **Measured here:** WL-LSTM state .04, all others .00; goal count .00; contrastive jumps 1.00; A* with LM-cut .44 (n
#   = 18)
# - **What differs:** other problems of the same sizes; the repair is not in the paper
# - **Fast path:** a few minutes on two cores; `FAST = False` needs about five; the committed grid: notebook 03

# %% tags=["parameters"]
FAST = True  # two ingredients changed, boosting less patient; False: all 24, published patience, about five minutes
ROUNDS = 8  # most rounds of colour refinement that are tried on the small example
SEED = 13  # of the states that contrastive jumps draw for their labels

# %%
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

import sgp

os.environ["OMP_NUM_THREADS"] = "1"  # boosting on so few rows is faster on one core than on two

# %% [markdown]
# ## Where the expert's successor stands
#
# Both planners below are trained on the same problems. The first is the paper's WL-XGBoost delta: it takes the
# candidate whose embedding is nearest to the predicted one. The second is contrastive jumps without lookahead (ours),
# so that both choose among the same successors. On every state of the expert's plans for the larger problems, each of
# them ranks the expert's successor among those that it can tell apart.

# %%
suite = sgp.load_suite("state-centric")
experts = sgp.trajectories(suite, "logistics", "extrapolation")
settings = {"boosting.patience": "3"} if FAST else {}  # the paper's 10 goes on longer before it stops
runs = {
    "WL-XGBoost delta": sgp.train(
        "state-centric", "logistics", suite.name, "wl-xgboost-delta", SEED, overrides=settings
    ),
    "contrastive jumps, one-step": sgp.train("contrastive-jumps", "logistics", suite.name, "one-step", SEED),
}
ranked = {
    name: pd.DataFrame([vars(each) for each in sgp.analysis.decisions(sgp.load_planner(run.folder), experts)])
    for name, run in runs.items()
}
figure = go.Figure(
    layout={"template": "plotly_white", "title": "Rank of the expert's successor, larger Logistics problems"}
)
for (name, found), (colour, dash) in zip(ranked.items(), [("#d55e00", "dash"), ("#0072b2", "solid")], strict=True):
    ranks = np.arange(1, 31)
    figure.add_scatter(
        x=ranks,
        y=[float((found["rank"] <= rank).mean()) for rank in ranks],
        name=name,
        line={"color": colour, "dash": dash, "shape": "hv"},
    )
figure.update_xaxes(title_text="rank (1: taken by greedy decoding)")
figure.update_yaxes(title_text="share of decisions with this rank or better", range=[0, 1.02])
figure

# %%
for name, found in ranked.items():
    low, high = sgp.wilson(found.top1.mean(), len(found))
    print(
        f"{name}: first in {found.top1.mean():.2f} [{low:.2f}, {high:.2f}] of {len(found)} decisions, mean rank "
        f"{found['rank'].mean():.1f} of {found.distinguishable.mean():.1f} that it can tell apart"
    )

# %% [markdown]
# A plan needs every one of its decisions, or another as good: many orders of the same actions are. The same for all
# planners with WL features, from the committed diagnostics; `perfect_coverage` is what greedy decoding solves when
# every prediction is the expert's next embedding.

# %%
measured = sgp.load_scores()
measured = measured[measured.suite == "state-centric"]
known = measured[(measured.domain == "logistics") & (measured.split == "extrapolation") & measured["size"].isna()]
known = known[known.variant.str.startswith("wl")]
known = known[known.metric.isin(["coverage", "expert_top1", "expert_top3", "expert_rank", "perfect_coverage"])]
print(known.note.iloc[0])
known.pivot_table(index="planner", columns="metric", values="value").round(2)

# %% [markdown]
# Most is lost by the prediction, but even a perfect one does not solve everything: the rest is lost by the features and
# by greedy decoding.
#
# ## What the features cannot see
#
# To know whether a package is in the right city one must see that its goal lies in the city of the place where it is:
# package, goal, place, city, place, package. In the graph of a state this is a cycle, and colour refinement sees no
# cycles, only trees. Here are two states of one problem. Packages `p` and `q` are to be at `l2` and `l3` (first
# picture). In the state `right` each is at the airport of its goal's city; in `swapped`, of the other's.


# %%
def small_task(name, where):
    """Three cities with an airport, a place and a truck each; packages p and q, to be at l2 and l3."""
    cities = (1, 2, 3)
    objects = " ".join(f"c{i} a{i} l{i} t{i}" for i in cities)
    static = " ".join(
        f"(city c{i}) (truck t{i}) (airport a{i}) (location a{i}) (location l{i}) "
        f"(in-city a{i} c{i}) (in-city l{i} c{i})"
        for i in cities
    )
    trucks = " ".join(f"(at t{i} a{i})" for i in cities)
    text = f"""(define (problem {name}) (:domain logistics) (:objects {objects} plane p q)
      (:init {static} (airplane plane) (package p) (package q) (at plane a1) {trucks} {where})
      (:goal (and (at p l2) (at q l3))))"""
    return sgp.Task(sgp.Problem(name, suite.domain_pddl("logistics"), text))


right = small_task("right", "(at p a2) (at q a3)")
swapped = small_task("swapped", "(at p a3) (at q a2)")
sgp.viz.goal_picture(right)

# %%
sgp.viz.picture(right)

# %%
sgp.viz.picture(swapped)

# %% [markdown]
# The vocabulary is collected from these two states themselves, so that no colour is unseen. The next cell counts, for a
# number of rounds k, the colours in which the histograms of the two states differ; and how many actions a shortest plan
# has from each.


# %%
def shortest(task):
    """The number of actions of a shortest plan, by breadth-first search."""
    layer, seen, length = [task.init], {task.init}, 0
    while not any(task.is_goal(state) for state in layer):
        after = {each.state for state in layer for each in task.successors(state)}
        layer = list(after - seen)
        seen |= after
        length += 1
    return length


differing = []
for rounds in range(1, ROUNDS + 1):
    encoder = sgp.data.WLEncoder.fit(
        sgp.data.WLConfig(iterations=rounds), [(right, [right.init]), (swapped, [swapped.init])]
    )
    one, other = (encoder.embed(task, [task.init])[0] for task in (right, swapped))
    differing.append({"k": rounds, "colours": encoder.dimension, "differ in": int((one != other).sum())})
print(f"shortest plan: {shortest(right)} actions from right, {shortest(swapped)} from swapped, where packages must fly")
pd.DataFrame(differing)

# %% [markdown]
# They do not differ for any k: node by node the neighbourhoods agree, and more rounds only spell them out further. Here
# are the colours of some nodes after two rounds, numbered as the columns of the histogram:

# %%
two = sgp.data.WLEncoder.fit(sgp.data.WLConfig(iterations=2), [(right, [right.init]), (swapped, [swapped.init])])
graphs = {task.name: sgp.data.coloured_graph(two.vocabulary, task, task.init) for task in (right, swapped)}
NODES = ("p", "q", "l2", "l3", "a2", "a3", "c2", "c3")
pd.DataFrame(
    {name: {node: graph.colours[-1][graph.nodes.index(node)] for node in NODES} for name, graph in graphs.items()}
).rename_axis("colour after two rounds")

# %% [markdown]
# ### Two candidates of one state
#
# Decoding compares successors of one state. Let the airplane be in city 2 with both packages: to unload `p` is right,
# to unload `q` is wrong. Here enough rounds would tell, because the airplane marks the city. The next cell says from
# which k on.

# %%
loaded = small_task("loaded", "(in p plane) (in q plane)")
(flown,) = (
    each.state for each in loaded.successors(loaded.init) if str(each.actions[0]) == "(fly-airplane plane a1 a2)"
)
unload = [each for each in loaded.successors(flown) if each.actions[0].name == "unload-airplane"]
print("candidates:", ", ".join(str(each.actions[0]) for each in unload))
differences = []
for rounds in range(1, ROUNDS + 1):
    encoder = sgp.data.WLEncoder.fit(sgp.data.WLConfig(iterations=rounds), [(loaded, [each.state for each in unload])])
    one, other = encoder.embed(loaded, [each.state for each in unload])
    differences.append({"k": rounds, "differ in": int((one != other).sum())})
pd.DataFrame(differences)

# %% [markdown]
# So why not take more rounds? Because colours that tell so much are colours of this one problem: the next cell collects
# vocabularies from the training problems and counts the share of features in the larger problems that training never
# saw, and the number of colours.

# %%
data = sgp.load_training_data(suite, "logistics")
deeper = []
for rounds in range(1, 5 if FAST else 7):
    encoder = sgp.data.WLEncoder.fit(
        sgp.data.WLConfig(iterations=rounds), [(each.task, each.states) for each in data.train]
    )
    unseen = np.mean([encoder.unseen(each.task, each.states).mean() for each in experts])
    deeper.append({"k": rounds, "colours": encoder.dimension, "unseen": float(unseen)})
deeper = pd.DataFrame(deeper)
figure = go.Figure(
    layout={"template": "plotly_white", "title": "Features of larger Logistics problems that training never saw"}
)
figure.add_scatter(
    x=deeper.k,
    y=deeper.unseen,
    text=deeper.colours,
    texttemplate="%{text} colours",
    textposition="top left",
    mode="lines+markers+text",
    line={"color": "#0072b2"},
    marker={"size": 10, "symbol": "square"},
)
figure.update_xaxes(title_text="rounds of refinement, k", dtick=1, range=[0.5, deeper.k.max() + 0.5])
figure.update_yaxes(title_text="share of features unseen", range=[0, 1])
figure

# %% [markdown]
# ### What sees the cycle
#
# Contrastive jumps embed the transition to a candidate, with *walks* from the objects that change. A walk that ends on
# another object that changes is closed, and closed walks see the cycle. The next cell embeds the two candidates with
# the same k = 2 and closed walks of up to 0, 1, 2 and 3 atoms.

# %%
rows = []
for atoms in range(4):
    encoder, (embedded,) = sgp.data.MarkedTransitionEncoder.fit(
        sgp.data.MarkedConfig(closed_atoms=atoms), [(loaded, flown, unload)]
    )
    one, other = embedded.dense(encoder.dimension)
    columns = np.flatnonzero(one != other)
    words = dict.fromkeys(encoder.in_words(loaded, flown, unload, columns))
    rows.append({"closed walks of at most": f"{atoms} atoms", "differ in": len(columns), "in words": "; ".join(words)})
pd.set_option("display.max_colwidth", None)
pd.DataFrame(rows)

# %% [markdown]
# The feature in the last row is the sentence from above: the place where the package is unloaded and its open goal are
# joined by one city. It is short, it is the same in a problem of any size, and so training has seen it.
#
# ## What a failed rollout looks like
#
# The recorded rollout of WL-XGBoost delta on a larger problem. Open goals over the steps, and where the failure begins:

# %%
failed = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.method) == ("logistics", "state-centric") and each.head["outcome"] != "solved"
)
failure = sgp.analysis.failure_of(failed)
for finding in failure.findings:
    print(f"step {finding.step}: {finding.kind}, {finding.kind.definition}")
figure = go.Figure(
    layout={"template": "plotly_white", "title": f"Open goals of {failed.head['name']}, {failed.about.model}"}
)
figure.add_scatter(
    x=list(range(len(failure.open_goals))),
    y=failure.open_goals,
    line={"color": "#000000", "shape": "hv"},
    name="open goals",
)
figure.add_vline(
    x=failure.primary.step, line={"dash": "dash", "color": "#d55e00"}, annotation_text=f"{failure.primary.kind} begins"
)
figure.update_xaxes(title_text="actions taken")
figure.update_yaxes(title_text="open goals", rangemode="tozero")
figure

# %% [markdown]
# What is done all that time? The actions of the plateau, counted:

# %%
taken = [step["candidates"][step["chosen"]]["actions"][0].strip("()").split()[0] for step in failed.steps]
parts = np.where(np.arange(1, len(taken) + 1) < failure.primary.step, "before", "plateau")
pd.DataFrame({"action": taken, "part": parts}).groupby(["part", "action"]).size().unstack(fill_value=0)

# %% [markdown]
# Vehicles move and packages are loaded and unloaded again, at places that look alike to the model; no state is visited
# twice, because visited states are masked, and there are enough of them to last to the horizon. Step through it:

# %%
sgp.show(failed, step=failure.primary.step)

# %%
sgp.viz.link(failed, failure.primary.step)

# %% [markdown]
# ## What mends it
#
# Contrastive jumps solve all of the larger problems. Which ingredient does it? The ablation changes one at a time and
# solves the same problems; every plan counted was accepted by VAL. A change of training trains again; a change of
# decoding (a beam of one path, revisits) decodes the same run in another way. `FAST` tries the changes that are named
# here; `docs/settings.md` has them all, in its section "What each ingredient does".

# %%
CHANGES = {
    "nothing changed": {},
    "no walks at all": {"embedding.open_atoms": "0", "embedding.closed_atoms": "0"},
    "successors alone": {"candidates": "one-step"},
}
cells = sgp.experiments.grid_cells(
    suite.name, ["logistics"], {"contrastive-jumps": ["aiw"]}, (SEED,), ["extrapolation"]
)
cells = sgp.experiments.ablation_cells(cells)
cells = [replace(cell, decodings=(decoding,)) for cell in cells for decoding in cell.decodings]  # a line each
names = {(tuple(sorted(change.items())), ("default",)): name for name, change in CHANGES.items()}
chosen = [each for each in cells if not FAST or (each.overrides, each.decodings) in names]


def changed(cell):
    """What a cell changes, in words: settings of training, or the decoding."""
    settings = ", ".join(f"{key} {value}" for key, value in cell.overrides)
    return names.get((cell.overrides, cell.decodings), settings or f"decoding {cell.decodings[0]}")


title = {each: changed(each) for each in chosen}
coverage = []
for cell in chosen:
    scores = sgp.experiments.run_grid([cell]).scores
    found = {row.metric: row for row in scores[scores.split == "extrapolation"].itertuples()}
    length = found["plan_length"].value if "plan_length" in found else None
    coverage.append((title[cell], found["coverage"].value, found["coverage"].n, length))
coverage = pd.DataFrame(coverage, columns=["line", "value", "count", "length"])
coverage = coverage.assign(panel="Logistics, extrapolation", series="contrastive jumps")
sgp.viz.rates(coverage, f"Contrastive jumps with one ingredient changed (n = {coverage['count'].iloc[0]})")

# %%
pd.DataFrame(
    [
        {
            "change": each.line,
            "coverage": each.value,
            "95 % interval": "[{:.2f}, {:.2f}]".format(*sgp.wilson(each.value, each.count)),
            "n": each.count,
            "mean actions of plans found": each.length,
        }
        for each in coverage.itertuples()
    ]
).round(2)

# %% [markdown]
# Features that see the cycle are needed: without walks problems are lost, and plans that are still found are longer.
# Lookahead is not what mends Logistics. The other thing needed is the loss, which the full run tries: it asks for the
# right candidate to be nearest rather than for a small error. With squared error on the very same features the expert's
# choice among packages and trucks that are alike averages out (`docs/settings.md`, "What each ingredient does").
#
# ## Our numbers beside the paper's

# %%
METHODS = ("state-centric", "contrastive-delta", "contrastive-jumps")
ours = measured[(measured.domain == "logistics") & measured.method.isin(METHODS)]
theirs = sgp.load_scores("published/state-centric")
sgp.experiments.coverage_table(
    pd.concat([ours, theirs[theirs.table == "1"]]), "Logistics, all splits", all_published=True
)

# %% [markdown]
# ## Exercises
#
# 1. More rounds of refinement do not distinguish the two states of the example. Why not?
#
#    <details><summary>Solution</summary>
#
#    Refinement compares neighbourhoods. If both graphs have the same numbers of nodes with the same neighbourhoods at
#    every depth, as one long cycle and two short ones have, all rounds give equal histograms.
#
#    </details>
#
# 2. The expert's successor is ranked low although the loss of training is small. How can both be true?
#
#    <details><summary>Solution</summary>
#
#    The loss is the squared error of a vector. A prediction that averages several equivalent choices has a small error
#    and is nearest to a successor that is none of them.
#
#    </details>
#
# 3. Predict coverage without walks but with lookahead, and compare with the table.
#
#    <details><summary>Solution</summary>
#
#    The table has it, with n and interval: lookahead alone does not replace what the features cannot see.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - No GNN of this kind distinguishes the two states, either. What would?
# - Is a domain that the features cannot express a fair test of learning?
#
# **Sixty minutes.** 10 minutes: the rank of the expert's successor. 20: what the features cannot see. 10: a failed
# rollout. 20: what repairs it, exercises 1 and 2.
