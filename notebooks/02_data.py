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
# # The data, and what a planner sees of it
#
# From which problems is learned, and on which is it tried? What does a state look like once it is a vector, and how
# often do two different states look the same? The first is Table 5 of the state-centric paper, the second its Table 3;
# the third the paper does not measure.

# %% tags=["parameters"]
FAST = True  # the pairs that look alike are looked for in two validation problems a domain, not in all (minutes)
LIVE = ["gripper"]  # what is learned here from some of the training problems
SUITE = "state-centric"  # or another that `sgp.list_suites()` lists and that has splits `train` and `validation`

# %%
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from IPython.display import HTML
from plotly.subplots import make_subplots

import sgp

suite = sgp.load_suite(SUITE)
published = sgp.load_scores("published/state-centric")
MARKS = {  # Okabe and Ito's colours; told apart by mark as well
    "train": ("#000000", "circle"),
    "validation": ("#e69f00", "x"),
    "interpolation": ("#009e73", "diamond-open"),
    "extrapolation": ("#0072b2", "triangle-up-open"),
}
print(f"suite {suite.name}, {suite.origin}; {len(suite.domains)} domains")

# %% [markdown]
# ## Problems
#
# Every split counted in the files themselves, the counts of the paper's Table 5 beside ours. Our problems are our own:
# drawn by `sgp generate` with the paper's counts and sizes, no two of different splits equal up to renaming of objects.

# %%
sgp.experiments.paper_table("state-centric", 5, sgp.load_scores(), SUITE)

# %% [markdown]
# Training problems are few and small. What *extrapolation* asks for is seen best as a picture: each mark is a problem,
# by its number of objects and the length of the expert's plan (A* with LM-cut for 60 s, and where that found none,
# greedy search; the latter's plans may be longer than necessary).

# %%
problems = pd.DataFrame(
    [
        (domain, split, entry.size, plan.configuration, len(plan.plan))
        for domain in suite.domains
        for split, entries in suite.domain(domain).splits.items()
        for plans in [sgp.data.expert_plans(suite, domain, split)]
        for entry, problem in zip(entries, suite.problems(domain, split), strict=True)
        if (plan := plans[problem.sha256]).plan is not None
    ],
    columns=["domain", "split", "objects", "planner", "actions"],
)

figure = make_subplots(2, 2, subplot_titles=list(suite.domains), vertical_spacing=0.2)
for (domain, split), group in problems.groupby(["domain", "split"], sort=False):
    row, column = divmod(list(suite.domains).index(domain), 2)
    colour, symbol = MARKS[split]
    figure.add_scatter(
        x=group.objects,
        y=group.actions,
        mode="markers",
        name=split,
        legendgroup=split,
        showlegend=row == column == 0,
        marker={"color": colour, "symbol": symbol, "size": 8},
        row=row + 1,
        col=column + 1,
    )
figure.update_xaxes(title="objects")
figure.update_yaxes(title="actions of the plan", rangemode="tozero")
figure.update_layout(title="Expert plans over size", template="plotly_white", height=680, width=900)
figure

# %% [markdown]
# Who made the plans, and for how many problems of a domain there is one:

# %%
made = problems.groupby(["domain", "planner"]).size().unstack(fill_value=0)
made["problems"] = [sum(map(len, suite.domain(domain).splits.values())) for domain in made.index]
made

# %% [markdown]
# ## Trajectories
#
# A method never sees the plan's actions. It is given the states along it: a plan of T actions is a trajectory of T + 1
# states and T transitions, and the transitions are the rows of the regression. Early stopping watches the validation
# trajectories.

# %%
data = {domain: sgp.load_training_data(suite, domain) for domain in suite.domains}
pd.DataFrame(
    {
        domain: {
            "training trajectories": len(each.train),
            "transitions": sum(map(len, each.train)),
            "validation trajectories": len(each.validation),
            "validation transitions": sum(map(len, each.validation)),
            "objects of the largest problem of all splits": each.largest,
        }
        for domain, each in data.items()
    }
).T

# %% [markdown]
# This is one of them, the shortest of Gripper, whole: initial state, goal (grey is what the goal leaves open), and the
# state after each action.


# %%
def strip(pictures):
    """Pictures in a row, words above each."""
    frames = "".join(
        f'<figure style="margin:4px;width:31%"><figcaption>{words}</figcaption>{drawn.svg}</figure>'
        for words, drawn in pictures
    )
    return HTML(f'<div style="display:flex;flex-wrap:wrap">{frames}</div>')


shortest = min(data["gripper"].train, key=len)
after = [f"{step}. {action}" for step, action in enumerate(shortest.actions, start=1)]
strip(
    [
        ("goal", sgp.viz.goal_picture(shortest.task)),
        *(
            (words, sgp.viz.picture(shortest.task, state))
            for words, state in zip(["start", *after], shortest.states, strict=True)
        ),
    ]
)

# %% [markdown]
# ## How many problems does it take?
#
# Training problems are few. Are they more than needed? Coverage of extrapolation after training on 1, 2, 4, half and
# all of them, five draws of each number (`sgp grid --preset learning-curve`), as far as it was measured and committed:
# the line is the mean of the draws, the band goes from the least to the most of them.

# %%
learned = sgp.load_scores("measured/learning-curve")
sgp.viz.learning_curves(learned) if len(learned) else "not measured yet"

# %% [markdown]
# And here and now, two draws each of Gripper's:

# %%
cells = sgp.experiments.grid_cells(SUITE, LIVE, {"contrastive-jumps": ["one-step"]}, (13,), ["interpolation"])
cells = sgp.experiments.learning_cells(cells, draws=2)
sgp.experiments.learning_table(
    sgp.experiments.run_grid(cells).scores, "coverage of interpolation by the number of training problems"
)

# %% [markdown]
# ## Embeddings
#
# A state becomes a vector in one of two ways. **WL**: objects, true atoms and goal atoms are the nodes of a graph,
# which Weisfeiler-Leman refinement colours for k = 2 rounds; the vector counts how often each colour occurs. Its
# dimension D is the number of colours met on the training trajectories, whatever the size of a later problem; colours
# that training never met are not counted at all. **FSF**: a slot for each object, as many as the largest problem has
# objects, and a global one.

# %%
encoders = {
    domain: sgp.data.WLEncoder.fit(sgp.data.WLConfig(), [(each.task, each.states) for each in of_domain.train])
    for domain, of_domain in data.items()
}
slots = {
    domain: sgp.data.FSFEncoder(suite.built_in_domain(domain), of_domain.largest) for domain, of_domain in data.items()
}
printed = {
    (row.table, row.variant, row.domain): int(row.value)
    for row in published[published.metric == "dimension"].itertuples()
}
pd.DataFrame(
    {
        domain: {
            "WL": encoders[domain].dimension,
            "WL, published (Table 3)": printed.get(("3", "wl", domain)),
            "WL, published (appendix E.4)": printed.get(("E.4", "wl", domain)),
            "FSF": slots[domain].dimension,
            "FSF, published (Table 3)": printed.get(("3", "fsf", domain)),
        }
        for domain in suite.domains
    }
).T

# %% [markdown]
# The paper gives two sizes of the WL vocabulary. Table 3's come out exactly with its settings on its own problems; on
# ours they agree where a domain's problems leave nothing to chance (Gripper's are determined by the number of balls)
# and differ where they were drawn. For FSF the paper's text has one slot more than its table.
#
# What a column of a WL vector counts can be said in words. These are the colours of the first state above that occur
# there, the most specific last:

# %%
encoder = encoders["gripper"]
(counts,) = encoder.embed(shortest.task, shortest.states[:1]).astype(int)
columns = np.flatnonzero(counts).tolist()
words = pd.DataFrame(
    {"column": columns, "times": counts[columns], "neighbourhood": encoder.in_words(shortest.task, columns)}
)
print(f"{len(columns)} of {encoder.dimension} columns are not 0; every tenth of them:")
words.iloc[::10].style.hide(axis="index").set_properties(**{"text-align": "left", "white-space": "normal"})

# %% [markdown]
# ## Successors that look the same
#
# A planner of this kind picks the successor whose vector is nearest to the predicted one. Successors of *equal* vectors
# are one to it. How often does that happen? At every state of an expert's plan take all unvisited successors; the share
# that disappears when those of equal vectors count once is what the model cannot tell apart. `sgp.analysis.decisions`
# counts both. No learning is involved, so that the planner that predicts no change will do, with either encoder in it.

# %%
SPLITS = ["validation", "interpolation"]


def share_alike(planner, found):
    """The share of successors that collapse into another, and the number of decisions."""
    made = sgp.analysis.decisions(planner, found)
    return 1 - sum(each.distinguishable for each in made) / sum(each.candidates for each in made), len(made)


planners = {}
for domain in suite.domains:
    wl = sgp.load_planner(sgp.train("zero-change", domain, SUITE).folder)
    planners[domain] = {"wl": wl, "fsf": replace(wl, policy=replace(wl.policy, encoder=slots[domain]))}

alike = {}
for domain in suite.domains:
    for split in SPLITS:
        found = sgp.trajectories(suite, domain, split)
        for name, planner in planners[domain].items():
            alike[domain, split, name] = share_alike(planner, found)
pd.DataFrame(
    {
        (domain, split): {
            "decisions": f"{alike[domain, split, 'wl'][1]}",
            **{name: f"{alike[domain, split, name][0]:.3f}" for name in ("wl", "fsf")},
        }
        for domain in suite.domains
        for split in SPLITS
    }
).T

# %% [markdown]
# FSF, which knows every object by its slot, tells everything apart. That is no advantage: it also tells apart what is
# the same but for names. Extrapolation takes longer to count; the committed measurements have it. Where both were
# counted, they must be equal:

# %%
scores = sgp.load_scores()
scores = scores[(scores.suite == SUITE) & (scores.metric == "indistinguishable") & scores["size"].isna()]
scores = scores[scores.planner == "state-centric wl-xgboost-delta"]
committed = {(row.domain, row.split): row for row in scores.itertuples()}
for (domain, split, name), (share, count) in alike.items():
    score = committed.get((domain, split)) if name == "wl" else None
    assert score is None or (abs(share - score.value) < 1e-9 and count == score.count), (domain, split, share, score)

figure = go.Figure()
for split, pattern, colour in zip(
    [*SPLITS, "extrapolation"], ["", "/", "x"], ["#56b4e9", "#009e73", "#0072b2"], strict=True
):
    own = [score for (_, of), score in committed.items() if of == split]
    figure.add_bar(
        x=[score.domain for score in own],
        y=[score.value for score in own],
        text=[f"{score.value:.2f}<br>n = {score.count}" for score in own],
        textposition="outside",
        name=split,
        marker={"color": colour, "pattern": {"shape": pattern}},
    )
figure.update_yaxes(title="share of successors", range=[0, 1.1])
figure.update_xaxes(title="domain")
measured_on = sorted({score.note.split(",")[0] for score in committed.values()})
figure.update_layout(
    title=f"Successors that WL cannot tell apart (committed measurement of {', '.join(measured_on)}; n decisions)",
    template="plotly_white",
    height=430,
    width=900,
)
figure

# %% [markdown]
# Is that a loss? Two states with one vector may be the same up to renaming of objects: then it does not matter which is
# taken, and no embedding that ignores names could or should tell them apart. Or they differ, and the vector is blind to
# it, for one of three reasons: the colours that tell them apart are not in the *vocabulary*, because training never met
# them; k = 2 *rounds* of refinement are too few; or *1-WL* cannot see it with any number of rounds. A canonical form of
# a state and its goal (`sgp.data.canonical_form`) decides whether two are the same but for names; encoders fitted to
# the very states in question, with two rounds and with ten, decide the rest.


# %%
def different_forms(states, task):
    """One state for each that is not another one renamed."""
    return list({sgp.data.canonical_form(sgp.Task(task.restarted(state))): state for state in states}.values())


def different_vectors(states, task, rounds):
    """How many vectors the states have where no colour of theirs is unknown."""
    fitted = sgp.data.WLEncoder.fit(sgp.data.WLConfig(iterations=rounds), [(task, states)])
    return len(np.unique(fitted.embed(task, states), axis=0))


def groups_alike(encoder, trajectory):
    """The groups of successor states of one vector, along an expert's path."""
    for state in trajectory.states[:-1]:
        states = list(dict.fromkeys(each.state for each in trajectory.task.successors(state) if each.state != state))
        _, vector = np.unique(encoder.embed(trajectory.task, states), axis=0, return_inverse=True)
        groups = [[other for other, its in zip(states, vector, strict=True) if its == one] for one in set(vector)]
        yield from (group for group in groups if len(group) > 1)


REASONS = ["only names differ", "vocabulary", "rounds", "1-WL"]
reasons, blind = {}, []
for domain in suite.domains:
    counts = dict.fromkeys(REASONS, 0)
    sample = sgp.trajectories(suite, domain, "validation")[-2 if FAST else None :]
    for trajectory in sample:
        for group in groups_alike(encoders[domain], trajectory):
            forms = different_forms(group, trajectory.task)
            two, ten = (different_vectors(forms, trajectory.task, rounds) for rounds in (2, 10))
            for reason, count in zip(
                REASONS, np.diff([1, two, ten, len(forms), len(group)])[[3, 0, 1, 2]], strict=True
            ):
                counts[reason] += int(count)
            if len(forms) > 1:
                blind.append((domain, trajectory.task, forms[:2]))
    reasons[domain] = {"problems": len(sample), "collapsed": sum(counts.values()), **counts}
pd.DataFrame(reasons).T

# %% [markdown]
# Where objects can be exchanged, nearly all of it is symmetry: balls in Gripper, packages without a goal in Logistics.
# VisitAll has no such objects; there two rounds do not reach far enough over the grid. More rounds would tell such
# states apart, at a price that notebook 04 measures: a vocabulary that test problems leave.
#
# It can matter. The two states below are successors of one state of an expert's plan and have one vector; of all such
# pairs found here they are those whose shortest plans (A*) differ most. Their lengths stand over the pictures.

# %%
pairs = []
for domain, task, states in blind:
    plans = [sgp.data.plan_of(task.restarted(state)).plan for state in states]
    pairs.append((domain, task, states, [len(plan) for plan in plans]))
domain, task, states, lengths = max(pairs, key=lambda each: np.ptp(each[-1]))
assert np.array_equal(*encoders[domain].embed(task, states)), "not one vector"
strip(
    [
        (f"{domain} {task.name}, the goal", sgp.viz.goal_picture(task)),
        *(
            (f"{length} actions to the goal", sgp.viz.picture(task, state))
            for state, length in zip(states, lengths, strict=True)
        ),
    ]
)

# %% [markdown]
# What differs, in atoms:

# %%
one, other = (set(map(str, task.atoms(state))) for state in states)
print("left: ", *sorted(one - other))
print("right:", *sorted(other - one))

# %% [markdown]
# ## Beside the paper
#
# The counts of Table 5 stand above. This is Table 3, ours from the committed measurements; the sizes of the models in
# it are the subject of notebooks 03 and 06.

# %%
sgp.experiments.paper_table("state-centric", 3, sgp.load_scores())

# %% [markdown]
# In the dashboard, indistinguishable successors are marked `collapsed` among the candidates. This is the step with the
# most of them in a recorded Gripper rollout:

# %%
rollout = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if each.about.domain == "gripper" and each.about.variant == "wl-xgboost-delta"
)
collapsed = [sum("collapsed" in each["marks"] for each in step["candidates"]) for step in rollout.steps]
print(f"{rollout.head['name']}, step {1 + int(np.argmax(collapsed))}: {max(collapsed)} candidates collapsed")
sgp.viz.link(rollout, step=1 + int(np.argmax(collapsed)))
