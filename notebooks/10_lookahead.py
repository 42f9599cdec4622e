# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Looking some actions ahead
#
# A policy that chooses among successors must be right at every single action. One that looks ahead may choose a state
# several actions away, and is asked less often. But many states lie ahead: which of them should be candidates, and how
# does a network see them all at once? This notebook shows the answers of "Efficient Lookahead Encoding and Abstracted
# Width for Learning General Policies in Classical Planning" (AIW-AD): a search of width 1, the abstraction that keeps
# it small, the graph of relations that the network reads, and one training, watched live.

# %% tags=["parameters"]
FAST = True  # a network that learns from a few tiny problems in about a minute; False: more of both, for long
DOMAIN = "blocksworld"  # of the drawings and of the training
CROWDED = ("blocksworld", "childsnack", "logistics", "transport")  # domains in which states are counted
SUITE = "lookahead-tiny"  # the name under which the problems for training are kept
SEED = 13

# %%
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported: everything is small here, threads would only wait

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import clear_output, display
from plotly.subplots import make_subplots

import sgp

# %% [markdown]
# ## A lookahead of width 1
#
# A breadth-first search from a state finds everything, and soon too much. IW(1) prunes it: a state that it generates is
# kept only if one of its atoms was true in no state generated before, the first state included. So there are at most as
# many kept states as there are atoms, however large the state space is. States one action away are always candidates,
# and so are goal states.
#
# A problem with three blocks, and its goal:


# %%
def problem(domain, size, seed):
    """A random problem with so many objects."""
    built_in = sgp.get_domain(domain)
    text = built_in.generate_size(np.random.default_rng(seed), size)
    return sgp.Task(sgp.Problem(f"{domain}, {size} objects", built_in.pddl, text))


small = problem(DOMAIN, 3, seed=3)
sgp.viz.side_by_side([("the state", sgp.viz.picture(small)), ("the goal", sgp.viz.goal_picture(small))])

# %% [markdown]
# The search's tree, read from left to right: each box is a state, with the number by which it was found and the action
# that led to it. Goal states are yellow. Whatever is chosen here is a *jump*: all actions on the way to it are taken.

# %%
ahead = sgp.successors_for("aiw")(small, small.init)
sgp.viz.lookahead_picture(small, ahead)

# %% [markdown]
# ## What abstraction changes
#
# Atoms are many where objects are: with n blocks there are n times (n - 1) atoms `on`, and as many reasons to keep a
# state. *Abstracted* IW(1), AIW for short, does not ask which block is on which one. Of an atom's arguments it looks at
# one after the other, with nothing but the types of the others: `on(a, block)`, something was seen below `a`, and
# `on(block, b)`. Only atoms of the goal are seen whole, because there it matters. With four blocks, first IW(1), then
# AIW:

# %%
four = problem(DOMAIN, 4, seed=2)
trees = {name: sgp.successors_for(name)(four, four.init) for name in ("iw", "aiw")}
sgp.viz.side_by_side(
    [(f"{name}: {len(found)} states", sgp.viz.lookahead_picture(four, found)) for name, found in trees.items()],
    columns=1,
)

# %% [markdown]
# What AIW leaves out is a block on another one where both halves of the atom were seen before: this block on
# something, something on that one. The difference grows with the problems. Candidates of the initial state, means over
# random problems of a size; first as a table for one domain, then for all as a plot with logarithmic axes.

# %%
PROBLEMS = 2 if FAST else 20  # a size
SIZES = (10, 15, 20, 30, 40) if FAST else (10, 15, 20, 30, 40, 60, 80, 120)
CANDIDATES = {
    "one action": sgp.successors_for("one-step"),
    "IW": sgp.successors_for("iw"),
    "AIW": sgp.successors_for("aiw"),
    "AIW, representatives": sgp.successors_for("aiw", representatives=True),
}
counted = []
for domain in CROWDED:
    for size in (sgp.get_domain(domain).sizes.nearest(size) for size in SIZES):
        for seed in range(PROBLEMS):
            task = problem(domain, size, seed)
            for name, successors in CANDIDATES.items():
                counted.append((domain, name, task.size, len(successors(task, task.init))))
counted = pd.DataFrame(counted, columns=["domain", "candidates", "objects", "states"])
means = counted.groupby(["domain", "candidates", "objects"]).states.mean()
means.loc[CROWDED[1]].unstack("objects").round(1)

# %%
LINES = {  # Okabe and Ito's colours; told apart by mark and dash as well
    "one action": ("#000000", "circle", "dot"),
    "IW": ("#d55e00", "square", "dash"),
    "AIW": ("#0072b2", "diamond", "solid"),
    "AIW, representatives": ("#009e73", "triangle-up", "dashdot"),
}
figure = make_subplots(2, 2, subplot_titles=CROWDED, vertical_spacing=0.16)
for place, domain in enumerate(CROWDED):
    for name, (colour, symbol, dash) in LINES.items():
        own = means[domain, name]
        figure.add_scatter(
            x=own.index,
            y=own,
            name=name,
            legendgroup=name,
            showlegend=place == 0,
            line={"color": colour, "dash": dash},
            marker={"symbol": symbol, "size": 8},
            mode="lines+markers",
            row=place // 2 + 1,
            col=place % 2 + 1,
        )
figure.update_xaxes(type="log", title="objects", tickvals=SIZES)
figure.update_yaxes(type="log", title="candidates", dtick=1)
figure.update_layout(title="Candidates of the initial state", template="plotly_white", height=700, width=950)
figure

# %% [markdown]
# In Blocksworld and Transport abstraction does most: what is on what, and what is where, are atoms of two objects, of
# which there are many. In Childsnack one action alone leads to most of what is left, and there are hundreds of these:
# sandwiches, portions of bread and trays can be exchanged, and most candidates differ in their names alone. The last
# line has one *representative* of each (`representatives=true` of contrastive jumps), and hardly grows. In Logistics
# both help. In Blocksworld no two blocks can be exchanged, and the two lines of AIW are one.
#
# ## How a network sees a tree
#
# The policy has to say which candidate is best, and all of them belong together: that a state is good shows when the
# others are seen. AIW-AD makes one graph of it. Objects are nodes, and atoms of the state and its goal are tuples over
# them, as in any relational network. Each candidate is a node more, and *aggregated delta* (AD) says of it only what
# changes: a tuple `added` or `deleted` (the paper's P+ and P-) of the candidate's node and the atom's objects, and
# `added-goal` or `deleted-goal` (PG+ and PG-) beside it where the atom belongs to the goal. Lines between candidates
# say which was reached from which (P_E). Last there is a node for each depth, an order among the depths (P_D), and a
# line from each candidate to its depth (P_SD).
#
# The graph of the first tree above, down to its second depth, so that the drawing is not too large. Each box in the
# columns of the state and of what differs is a tuple, with a line to each node in it. What the state has without an
# object (`handempty`) is said of every object, so that it is seen at all.

# %%
shallow = [each for each in ahead if len(each.actions) <= 2]
sgp.viz.encoding_picture(small, small.init, shallow)

# %% [markdown]
# So the graph grows by a node for each candidate and by what changes, most often a handful of atoms. The encodings that
# the paper compares with copy all objects for each candidate, with its state (external), with both states (internal) or
# with the first state and the changes (internal delta). Nodes and tuples of one tree, by the number of objects:

# %%
ENCODINGS = ("changes", "external", "internal", "internal-delta")
rows = []
for size in (5, 10, 20, 40):
    task = problem(DOMAIN, size, SEED)
    found = sgp.successors_for("aiw")(task, task.init)
    row = {"objects": task.size, "candidates": len(found)}
    for encoding in ENCODINGS:
        trees = sgp.data.tree_encoder(task.domain_text, sgp.data.TreeConfig(encoding)).encode(task, task.init, found)
        tuples = sum(len(each.arguments) for each in trees.graphs.relations.values())
        row[f"{encoding}, nodes"], row[f"{encoding}, tuples"] = int(trees.graphs.objects[0]), tuples
    rows.append(row)
pd.DataFrame(rows).set_index("objects")

# %% [markdown]
# ## One training, live
#
# The network is a relational one: messages go along all tuples, some rounds of them, and then a small network scores
# each candidate's node beside the sum of the objects. The paper learns by trying (variant `aiw`), for half a day on a
# GPU. Variant `exact` is ours: the same network, candidates and graph, but which candidates are right is read off the
# whole state space of small problems, and right ones are learned against wrong ones. Here it learns from a few problems
# of four and five blocks, with fewer layers than usual. They are generated and become a suite; those for validation are
# other problems with five blocks.

# %%
TINY = (
    {"train": {4: 4, 5: 6}, "validation": {5: 4}} if FAST else {"train": {4: 10, 5: 20, 6: 10}, "validation": {6: 10}}
)
scratch = Path(tempfile.mkdtemp())
for seed, (split, sizes) in enumerate(TINY.items()):
    for size, count in sizes.items():
        sgp.generate_problems(sgp.get_domain(DOMAIN), size, count, seed, scratch / DOMAIN / split)
for split in TINY:
    (scratch / DOMAIN / split / "domain.pddl").replace(scratch / DOMAIN / "domain.pddl")
suite = sgp.import_folder(scratch, SUITE, overwrite=True)
{split: [each.size for each in entries] for split, entries in suite.domains[DOMAIN].splits.items()}

# %% [markdown]
# After each epoch the planner of that moment is looked at in three ways: its loss on the experts' decisions in the
# problems for validation, how many of these problems it solves, and how many that are larger than all in training
# (with a short limit each). The picture below is drawn anew each time.

# %%
SETTINGS = (
    {"shape.layers": "6", "training.steps": "16", "training.epochs": "6"}
    if FAST
    else {"shape.layers": "12", "training.epochs": "40"}
)
RULES = sgp.experiments.DynamicConfig(
    problems=4, multiples=(1.4,) if FAST else (1.5, 2, 3), seconds=0.4 if FAST else 10.0
)
EPOCHS = int(SETTINGS["training.epochs"])
live = make_subplots(1, 2, subplot_titles=("loss on the experts' decisions", "coverage"), horizontal_spacing=0.12)
for name, dash, column in (("loss", "dot", 1), ("of training's size", "solid", 2), ("larger", "dash", 2)):
    live.add_scatter(x=[], y=[], name=name, mode="lines+markers", line={"dash": dash}, row=1, col=column)
live.update_xaxes(title="epoch", range=[0.5, EPOCHS + 0.5])
live.update_yaxes(range=[-0.05, 1.05], col=2, row=1)
live.update_yaxes(rangemode="tozero", col=1, row=1)
live.update_layout(template="plotly_white", title="AIW-AD, variant exact", height=380)


def look(planner):
    """Adds what an epoch's planner reached."""
    values = planner.loss, planner.coverage, np.mean([*planner.sizes.values()])
    for line, value in zip(live.data, values, strict=True):
        line.x, line.y = (*line.x, len(line.x) + 1), (*line.y, value)
    clear_output(wait=True)
    display(live)


trained = sgp.experiments.train_jointly(
    "aiw-ad",
    DOMAIN,
    suite.name,
    "exact",
    SEED,
    overrides=SETTINGS,
    config=RULES,
    again=True,  # what is trained already could not be watched
    watch=look,
)

# %%
sgp.experiments.joint_table(trained, "Every epoch, and by which validation it was selected")

# %% [markdown]
# Loss and coverage need not tell the same: a network that becomes sure of one of several right candidates loses where
# the expert chose another. That is why the paper selects by coverage (`sgp train --by coverage`), which several epochs
# share here; coverage on larger problems, and then the length of their plans, tells these apart (`--by dynamic`).
#
# What this one learned, on a problem with more blocks than any in training. Each step is a jump; the player lists all
# candidates of its tree with their costs, which are the scores but for the sign.

# %%
run = trained.runs["dynamic"]
larger = problem(DOMAIN, 6, SEED)
rollout = sgp.solve(larger.problem, run.folder, sgp.Limit(seconds=8 if FAST else 20))
print(f"{rollout.outcome}: {len(rollout.steps)} decisions, {len(rollout.plan)} actions")
sgp.show(sgp.data.as_recorded(rollout, run.folder))

# %% [markdown]
# ## Our numbers beside the paper's: Table 1 of AIW-AD
#
# Problems that are solved in the ten domains of the learning track of the IPC 2023, as the paper prints them, and what
# was measured here (`sgp table aiw-ad 1` prints the same). The caption says what was different.

# %%
scores = sgp.load_scores()
sgp.experiments.paper_table("aiw-ad", 1, scores[scores.suite == "track"])

# %% [markdown]
# ## In the dashboard
#
# Contrastive jumps choose among such candidates, too, with a linear ranker in place of the network. One of its rollouts
# at the first jump:

# %%
recorded = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.method, each.about.variant) == (DOMAIN, "contrastive-jumps", "aiw")
)
sgp.viz.link(recorded, step=1)
