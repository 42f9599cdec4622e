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
# # What is in a name
#
# A transformer reads tokens, and the objects of a planning problem become tokens by their names. But names say nothing:
# call the blocks otherwise, and the problem is the same. "Symmetry-Aware Transformer Training for Automated Planning"
# (symt) shows each problem under two namings in training and asks that the network do the same for both. This notebook
# shows what a renaming does to such a network, step by step, the two losses on one pair of namings, four ways to decode
# one training, and what happens where objects have no names to begin with (method `nameless`, ours).

# %% tags=["parameters"]
FAST = True  # networks that are trained for some seconds and solve little; False: for a quarter of an hour each
DOMAIN = "blocksworld"
SEED = 13

# %%
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported: everything is small here, threads would only wait

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

import sgp

suite = sgp.load_suite("state-centric")
task = sgp.Task(suite.problems(DOMAIN, "train")[0])
sgp.viz.side_by_side([("the state", sgp.viz.picture(task)), ("the goal", sgp.viz.goal_picture(task))])

# %% [markdown]
# ## A state as tokens
#
# Every atom is one token, made of its predicate and the names of its objects; an atom of the goal has a predicate of
# its own. Tokens have no position, so that their order plays no part. Names are numbers of a vocabulary, given to the
# objects by a draw. Here are the same atoms under two draws:

# %%
tokens = sgp.data.Tokens(sgp.data.Vocabulary(task.domain_text))
rows = tokens.state(task, task.init)
columns = {}
for seed in (0, 1):
    naming = tokens.drawn_naming(task, seed)
    columns[f"draw {seed}"] = [" ".join(map(str, row)) for row in tokens.named(rows, naming).tolist()]
objects = tokens.objects(task, tokens.drawn_naming(task, 0))
words = [
    " ".join(tokens.word(token, objects) for token in row if token)
    for row in tokens.named(rows, tokens.drawn_naming(task, 0)).tolist()
]
pd.DataFrame({"atom": words, **columns}).set_index("atom")

# %% [markdown]
# ## Two trainings
#
# Variant `ed` of `symt` writes plans: an encoder reads the atoms, a decoder writes schemas and names. `nameless` scores
# the applicable actions. Both learn from the same few problems.

# %%
BRIEF = {
    "symt": {
        "shape.layers": "3",
        "shape.hidden": "48",
        "shape.heads": "4",
        "names": "30",
        "training.epochs": "6",
        "training.steps": "15",
        "training.batch": "16",
        "training.learning_rate": "0.003",
        "training.warm_up": "10",
        "training.alone": "30",
        "training.ramp": "30",
    },
    "nameless": {"shape.layers": "4", "shape.hidden": "32", "training.epochs": "10", "training.learning_rate": "0.003"},
}
runs = {
    method: sgp.train(method, DOMAIN, suite.name, seed=SEED, overrides=BRIEF[method] if FAST else {})
    for method in ("symt", "nameless")
}
pd.DataFrame(
    {
        method: {key: run.record["facts"][key] for key in ("parameters", "validation_loss", "seconds")}
        for method, run in runs.items()
    }
).T.round(2)

# %% [markdown]
# ## What a renaming does
#
# The same initial state under ten draws of names: how probable is each applicable action? Dots of one action that lie
# apart are a network that takes names for something. The last column has `nameless`, for which the objects were renamed
# in the problem itself.

# %%
fresh = np.random.default_rng(SEED)
choice = task.successors(task.init)
actions = [str(each.actions[0]) for each in choice]


def probabilities(planner, task, choice):
    """Of each applicable action in the initial state."""
    (ranking,) = planner.policy.rank([sgp.Node(task, task.init)], [choice])
    return np.exp(-ranking.costs)


def renamed(task):
    """The task with its objects' names exchanged, and the probabilities of its actions in the order of the first."""
    things = [thing.name for thing in task.text.objects]
    names = dict(zip(things, fresh.permutation([f"thing-{place}" for place in range(len(things))]), strict=True))
    other = sgp.Task(sgp.data.with_names(task, names))
    found = other.successors(other.init)
    called = {str(each.actions[0]): place for place, each in enumerate(found)}
    order = [
        called[str(sgp.Action(action.name, tuple(names[name] for name in action.objects)))]
        for (action,) in (each.actions for each in choice)
    ]
    return other, found, order


DOT = {"size": 7, "opacity": 0.5, "color": "#0072b2"}
figure = make_subplots(1, 2, subplot_titles=("symt", "nameless"), shared_yaxes=True, horizontal_spacing=0.03)
spread = {}
for column, method in enumerate(runs, start=1):
    drawn = []
    for seed in range(10):
        if method == "symt":
            planner = sgp.load_planner(runs[method].folder, f"ranked+seed={seed}")
            drawn.append(probabilities(planner, task, choice))
        else:
            other, found, order = renamed(task)
            drawn.append(probabilities(sgp.load_planner(runs[method].folder), other, found)[order])
    spread[method] = np.ptp(drawn, axis=0).max()
    for values in drawn:
        figure.add_scatter(x=values, y=actions, mode="markers", marker=DOT, row=1, col=column)
figure.update_xaxes(title="probability", rangemode="tozero")
figure.update_layout(template="plotly_white", showlegend=False, height=420, title="Ten namings of one state")
figure

# %%
assert spread["nameless"] < 1e-3, "renaming changes nothing, up to rounding"
pd.Series(spread, name="largest difference of one action's probability").to_frame().round(4)

# %% [markdown]
# ## The losses on one pair
#
# Training draws both together where they should agree: `L_att` is the squared difference of what is attended to,
# `L_hid` that of the first numbers that every layer leaves for a token. Below is what the last layer of the encoder
# attends to under two namings, the mean of its heads, and the difference.

# %%
pair = sgp.analysis.under_two_namings(sgp.load_planner(runs["symt"].folder), task)
one, two = pair.attended[-1]
figure = make_subplots(1, 3, subplot_titles=("draw 0", "draw 1", "difference"), shared_yaxes=True)
for column, values in enumerate((one, two, one - two), start=1):
    scale = {"colorscale": "RdBu", "zmid": 0} if column == 3 else {"colorscale": "Blues", "zmin": 0}
    figure.add_heatmap(z=values, x=pair.atoms, y=pair.atoms, showscale=False, row=1, col=column, **scale)
figure.update_yaxes(autorange="reversed")
figure.update_layout(template="plotly_white", height=480, title="What atoms attend to")
figure

# %%
pd.Series({"L_att": pair.attention_loss, "L_hid": pair.hidden_loss}, name="mean").to_frame().round(5)

# %% [markdown]
# ## One training, four ways to decode it
#
# *Greedy* writes the most probable tokens whether or not they can be done. *Applicable* chooses among tokens that lead
# to an applicable action. *Regrounding* reads every state anew and writes one action. *Ranked* asks how probable each
# applicable action is. Why writing ended is told by the rollout. Below all four are `symt`, and the last line is
# `nameless`.

# %%
problems = suite.problems(DOMAIN, "interpolation")
lines = {}
for name, run, decoding in (
    *((f"symt, {each}", runs["symt"], each) for each in ("greedy", "applicable", "regrounding", "ranked")),
    ("nameless", runs["nameless"], "default"),
):
    planner = sgp.load_planner(run.folder, decoding)
    rollouts = [planner.solve(sgp.Task(problem), sgp.Limit(actions=120)) for problem in problems]
    solved = sum(rollout.solved for rollout in rollouts)
    reasons = dict.fromkeys(rollout.reason or rollout.outcome.value for rollout in rollouts if not rollout.solved)
    lines[name] = {"solved": f"{solved} of {len(problems)}", "otherwise": "; ".join(reasons)}
pd.DataFrame(lines).T

# %% [markdown]
# What was written, token by token, stands in each step of a rollout of the first three, with the probability that the
# network gave each token, and in the rollout itself where no candidate was what it says:

# %%
rollout = sgp.load_planner(runs["symt"].folder, "applicable").solve(sgp.Task(problems[0]), sgp.Limit(actions=120))
pd.DataFrame(
    [
        {"step": place, "written": "  ".join(f"{word} {probability:.2f}" for word, probability in step.written)}
        for place, step in enumerate(rollout.steps[:6], start=1)
    ]
).set_index("step")

# %% [markdown]
# ## How many decisions are decisions of names?
#
# On the way of an expert, rename all objects and ask again: which share of the decisions is another one? Two decisions
# are the same where what they lead to differs in names alone. `sgp evaluate RUN --diagnose --renamings 10`
# measures this for every planner.

# %%
expert = sgp.load_training_data(suite, DOMAIN).train[: 2 if FAST else 4]
shares = {}
for method, decoding in (("symt", "ranked"), ("nameless", "default")):
    planner = sgp.load_planner(runs[method].folder, decoding)
    shares[method] = np.mean(sgp.analysis.name_sensitivity(planner, expert, renamings=3 if FAST else 10))
assert shares["nameless"] == 0
pd.Series(shares, name="share of decisions that names change").to_frame().round(3)

# %% [markdown]
# What has no names cannot be misled by them. A network that reads names must first learn, for every pair of them, that
# they are as good as each other: this is what hours of training on a GPU go into. What the paper reports stands in
# `sgp table symt 2`.
