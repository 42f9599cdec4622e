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
# # LSTM or boosted trees: does memory help?
#
# Boosted trees predict the next embedding from the present one and the goal's; an LSTM also remembers the path. This
# notebook shows the measured coverage and sizes beside the published ones, takes the memory away from a trained LSTM,
# and counts how often the present embedding alone cannot say what comes next.
#
# - **Paper:** "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric): Table 4, and
#   columns of Table 1
# - **Question:** does an LSTM solve more than boosted trees, and is it the memory?
# - **The paper claims:** extrapolation, mode state: LSTM .42 in Gripper and .72 in VisitAll, XGBoost .00 and .15; in
#   mode delta XGBoost is better in Blocksworld and VisitAll. Table 4: about 1.1 to 2.1 million parameters or 340,000 to
#   820,000 nodes, where the transformers have 25 to 220 million
# - **Measured here:** LSTM state 1.00 in Gripper and .37 in VisitAll, XGBoost state .06 and .27. In Gripper the trivial
#   planner goal count reaches 1.00 as well: to solve it, a planner needs only not to lose its way
# - **What differs:** other problems of the same sizes, a decoder without the published mistakes (notebook 03), three
#   seeds of the LSTM
# - **Fast path:** about one minute on two cores

# %% tags=["parameters"]
FAST = True  # mode state in Gripper, the six smallest problems; False: both modes, all sixteen (three minutes)
SEED = 13  # of the LSTM's first weights; the committed numbers have 13, 14 and 15

# %%
import os
from dataclasses import replace
from itertools import pairwise

import pandas as pd

import sgp

os.environ["OMP_NUM_THREADS"] = "1"  # boosting on so few rows is faster on one core than on two

# %% [markdown]
# ## What the tables say
#
# Ours are the committed numbers of the date printed below, the paper's are its Table 1, on other instances of the same
# sizes. The LSTM was trained with three seeds: the dot is the mean over them, the interval that of one seed's problems.

# %%
measured = sgp.load_scores()
measured = measured[measured.suite == "state-centric"]
published = sgp.load_scores("published/state-centric")
published = published[published.table == "1"]
print(measured.note[measured.metric == "coverage"].iloc[0])


DOMAINS = ("blocksworld", "gripper", "logistics", "visitall")
both = pd.concat([measured, published])
both = both[(both.split == "extrapolation") & (both.metric == "coverage") & both["size"].isna()]
both = both[both.planner.str.fullmatch(r"state-centric wl-(lstm|xgboost)-(delta|state)")]
who = both.paper.map(lambda paper: "published" if paper else "ours")
both = both.assign(panel=both.domain, line=both.variant.str.split("-").str[2] + ", " + who)
both = both.assign(series=both.variant.str.split("-").str[1])
shown = sgp.experiments.pool_seeds(both, ["panel", "line", "series"]).sort_values(["panel", "line", "series"])
counts = ", ".join(f"{row.panel} {row.count}" for row in shown.drop_duplicates("panel").itertuples())
sgp.viz.rates(shown, f"LSTM and XGBoost, WL features, split extrapolation (n: {counts})")

# %% [markdown]
# The trivial planner that moves to the fewest open goals, for comparison:

# %%
trivial = measured[(measured.planner == "goal-count unsatisfied") & (measured.metric == "coverage")]
trivial = trivial[(trivial.split == "extrapolation") & trivial["size"].isna()]
sgp.experiments.pool_seeds(trivial, ["domain"])[["domain", "text", "count"]]

# %% [markdown]
# ## Sizes of the models
#
# Table 4, and coverage against size: parameters of the LSTMs and of contrastive jumps (a linear ranker), nodes of the
# trees. Seeds are means.

# %%
sgp.experiments.paper_table("state-centric", 4, measured)

# %%
LSTMS = ["wl-lstm-state", "wl-lstm-delta", "fsf-lstm-state", "fsf-lstm-delta", "aiw"]
sgp.viz.coverage_against(
    measured[measured.variant.isin(LSTMS)], "parameters", "Extrapolation coverage against parameters"
)

# %%
TREES = measured[measured.variant.str.contains("xgboost")]
sgp.viz.coverage_against(TREES, "nodes", "Extrapolation coverage against nodes of the trees")

# %% [markdown]
# One mean hides how much the seed decides. These are our three seeds, and the spread that the paper prints.

# %%
spread = []
for domain in DOMAINS:
    for mode in ("delta", "state"):
        found = both[(both.domain == domain) & (both.variant == f"wl-lstm-{mode}")]
        (theirs,) = found[found.paper != ""].itertuples()
        seeds = {f"ours, seed {each.seed}": each.value for each in found[found.paper == ""].itertuples()}
        printed = f"{theirs.value:.2f} ± {theirs.spread:.2f}"
        spread.append({"domain": domain, "mode": mode, "n": theirs.n, **seeds, "published": printed})
pd.DataFrame(spread).round(2)

# %% [markdown]
# Where seeds of one model differ by more than the two models do, a comparison of the models from few seeds says little.
#
# ## An illustration: taking the memory away
#
# We train both models in Gripper and solve larger problems. The third line is the same trained LSTM, but every
# prediction is made as if it were the first. It was never trained to work without its memory, so that this shows what
# the network depends on, not what a network without memory could learn.

# %%
suite = sgp.load_suite("state-centric")
experts = sgp.trajectories(suite, "gripper", "extrapolation")[: 6 if FAST else None]
settings = {"boosting.patience": "3"} if FAST else {}  # in mode state the paper's 10 ends with the same trees here
planners = {}
for mode in ("state",) if FAST else ("state", "delta"):
    trees = sgp.train("state-centric", "gripper", suite.name, f"wl-xgboost-{mode}", SEED, overrides=settings)
    network = sgp.train("state-centric", "gripper", suite.name, f"wl-lstm-{mode}", SEED)
    planners[mode, "XGBoost"], planners[mode, "LSTM"] = (sgp.load_planner(run.folder) for run in (trees, network))


# %%
def forgetful(planner):
    """The planner with a predictor that remembers nothing."""
    predict = planner.policy.predictor

    def predict_anew(states, goals, carried):
        return predict(states, goals, [None] * len(carried))

    return replace(planner, policy=replace(planner.policy, predictor=predict_anew))


for mode, model in list(planners):
    if model == "LSTM":
        planners[mode, "LSTM, memory erased"] = forgetful(planners[mode, model])


def solved(planner):
    """How many of the problems are solved, VAL being the judge."""
    rollouts = planner.solve_many([each.task for each in experts])
    return sum(each.solved and sgp.validate(each.task.problem, each.plan).valid for each in rollouts)


coverage = [
    (f"mode {mode}", model, "larger problems", solved(planner) / len(experts), len(experts))
    for (mode, model), planner in planners.items()
]
coverage = pd.DataFrame(coverage, columns=["panel", "line", "series", "value", "count"])
sgp.viz.rates(coverage, f"Gripper, coverage with and without memory (n = {len(experts)})")

# %%
for each in coverage.itertuples():
    low, high = sgp.wilson(each.value, each.count)
    print(f"{each.panel}, {each.line}: {each.value:.2f} [{low:.2f}, {high:.2f}] of {each.count}")

# %% [markdown]
# ## What there is to remember
#
# A prediction without memory is the same wherever embedding and goal are the same. If the expert goes on in two ways
# from such states, no function of the present embedding predicts both. The next cell counts, among the expert's
# decisions, those whose state has a *twin*: another state of the same problem with the same embedding, after which the
# expert's next embedding is another one. It does so for the training problems and for the larger ones.

# %%
encoder = planners["state", "LSTM"].policy.encoder


def twins(trajectories):
    """For each decision of the trajectories: the action before it, the action, and whether its state has a twin."""
    rows = []
    for path in trajectories:
        embedded = [row.tobytes() for row in encoder.embed(path.task, path.states)]
        after = {}
        for here, there in pairwise(embedded):
            after.setdefault(here, set()).add(there)
        for step, (action, here) in enumerate(zip(path.actions, embedded[:-1], strict=True)):
            before = path.actions[step - 1].name if step else "start"
            rows.append({"decision": f"{before} → {action.name}", "twin": len(after[here]) > 1})
    return pd.DataFrame(rows)


data = sgp.load_training_data(suite, "gripper")
for name, trajectories in (("training", data.train), ("larger", experts)):
    found = twins(trajectories).twin
    low, high = sgp.wilson(found.mean(), len(found))
    print(f"{name} problems: {found.mean():.2f} [{low:.2f}, {high:.2f}] of {len(found)} decisions have a twin")

# %%
pd.DataFrame(
    {
        name: twins(trajectories).groupby("decision", sort=False).twin.mean().round(2)
        for name, trajectories in (("training", data.train), ("larger", experts))
    }
)

# %% [markdown]
# Where training has few twins and the larger problems have many, the features broke down on the way: rooms with more
# balls than any in training have colours that were never met and are dropped, and then the embedding does not say in
# which room the robot is. A model that remembers the last steps still knows. In this domain memory stands in for
# features
# that do not carry over. That it does so wherever features fail does not follow: here is how often they are unseen in
# all domains (committed scores), to be read beside the first plot.

# %%
unseen = measured[(measured.metric == "unseen") & (measured.variant == "wl-lstm-state") & measured["size"].isna()]
unseen.pivot_table(index="domain", columns="split", values="value").round(3)

# %% [markdown]
# ## Which decisions change
#
# On the expert's states, how often the expert's successor comes first, by kind of decision (the expert's action after
# the one before it).

# %%
kinds = {}
for (mode, model), planner in planners.items():
    ranked = pd.DataFrame([vars(each) for each in sgp.analysis.decisions(planner, experts)])
    paths = {each.task.name: each.actions for each in experts}
    names = [
        f"{paths[name][step - 1].name if step else 'start'} → {paths[name][step].name}"
        for name, step in zip(ranked.problem, ranked.step, strict=True)
    ]
    kinds[f"{mode}: {model}"] = ranked.top1.groupby(pd.Series(names, name="decision"), sort=False).agg(["size", "mean"])
table = pd.DataFrame({key: each["mean"].round(2) for key, each in kinds.items()})
table.insert(0, "n", next(iter(kinds.values()))["size"])
table

# %% [markdown]
# Agreement with the expert is not what decides coverage in Gripper (`05_state_or_delta`): the expert of the larger
# problems carries one ball at a time, and who carries two disagrees with it. What the table does show is where memory
# is used: in the rows in which the LSTM and the LSTM without memory differ.
#
# ## A step in the player
#
# What losing track looks like: a recorded rollout of WL-XGBoost delta in Gripper, which has no memory, at the step from
# which nothing gets better.

# %%
failed = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.variant) == ("gripper", "wl-xgboost-delta") and each.head["outcome"] == "horizon"
)
failure = sgp.analysis.failure_of(failed)
sgp.show(failed, step=failure.primary.step)

# %%
sgp.viz.link(failed, failure.primary.step)

# %% [markdown]
# ## Our numbers beside the paper's
#
# Coverage of all splits (its Table 1); Table 4 is above.

# %%
titles = [f"state-centric wl-{model}-{mode}" for model in ("lstm", "xgboost") for mode in ("delta", "state")]
both = pd.concat([measured, published])
sgp.experiments.coverage_table(both[both.planner.isin(titles)], "LSTM and XGBoost, all splits")

# %% [markdown]
# ## The full result
#
# ```sh
# sgp grid --variants state-centric:wl-lstm-state,state-centric:wl-lstm-delta --seeds 13,14,15 --diagnostics
# sgp grid --variants state-centric:wl-xgboost-state,state-centric:wl-xgboost-delta --diagnostics
# ```
#
# Hours of the committed measurement, wall-clock time of training:

# %%
training = measured[(measured.metric == "training_seconds") & (measured.method == "state-centric")]
training = training[training.decoding == "default"].groupby("variant").value.agg(["count", "sum"])
pd.DataFrame({"trainings": training["count"], "hours": training["sum"] / 3600}).round(2)

# %% [markdown]
# ## Exercises
#
# 1. The three seeds of WL-LSTM delta differ in Blocksworld. By how many problems of 20, and what does that say about
#    comparing it with XGBoost?
#
#    <details><summary>Solution</summary>
#
#    The table of seeds above has the coverages; .05 is one problem. Differences between the models that are no larger
#    than those between seeds show nothing.
#
#    </details>
#
# 2. In `forgetful`, pass `carried` to every second prediction only. Predict the coverage in Gripper.
#
#    <details><summary>Solution</summary>
#
#    There is no committed number for it. A prediction with an old memory receives a path that skipped a step, which
#    training never had; try it, and read the interval.
#
#    </details>
#
# 3. A state has a twin. Why can no function of the embedding be right for both, and why can an LSTM?
#
#    <details><summary>Solution</summary>
#
#    The function has the same input, so it gives the same output. The LSTM also has the path before, which differs.
#
#    </details>
#
# 4. Goal count solves all of Gripper with a beam of three and none with a beam of one. What does the beam replace?
#
#    <details><summary>Solution</summary>
#
#    Memory and lookahead: with visited states shared by three paths, ties and steps without a satisfied goal are tried
#    in parallel until one path makes progress.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - Is coverage in Gripper evidence for memory, given that goal count reaches 1.00?
# - Would features that count without a vocabulary remove the need for memory here?
# - How would you design a domain in which memory is necessary and goal count fails?
#
# **Sixty minutes.** 10 minutes: the card, coverage and sizes. 15: taking the memory away. 15: what there is to
# remember. 20: exercises 2 and 4, first question. Skip the decisions by kind and the player.
