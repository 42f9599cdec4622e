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
# # Table 1 of the state-centric paper, and what explains each difference
#
# Coverage of all planners on three splits of four domains, as published and as measured here. Much of the difference is
# in the loop that turns predictions into plans: the published implementation makes five mistakes around it, and here
# they are switched on one at a time.
#
# - **Paper:** "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric): Table 1
# - **Question:** does Table 1 come out again, and where it does not, why?
# - **The paper claims:** extrapolation: WL-XGBoost delta 1.00 in VisitAll and .50 in Blocksworld, WL-LSTM state .42 in
#   Gripper and .72 in VisitAll, nothing in Logistics; Plansformer and PlanGPT at most .10
# - **Measured here:** the same variants .98, .20, 1.00, .37 and at most .04. The trivial planner *goal count*, which
#   learns nothing, solves all of Gripper and VisitAll: in these two domains coverage does not show that a model has
#   learned much
# - **What differs:** other problems of the same sizes; a decoder without the five mistakes. Plansformer and PlanGPT are
#   published numbers only (PlanGPT: notebook 11). A GNN was not measured on these domains; `sgp grid --variants
#   gnn-value:rgnn` does it
# - **Fast path:** a few minutes on two cores; the whole grid is the last section but two

# %% tags=["parameters"]
FAST = True  # a few cells of the table and a few problems; False: the whole grid, many hours on 2 cores (resumable)
DOMAINS = ["blocksworld", "gripper"] if FAST else ["blocksworld", "gripper", "logistics", "visitall"]
METHODS = {"contrastive-jumps": ["aiw"], "state-centric": ["wl-xgboost-delta"]} if FAST else None  # None: all
SPLITS = ["validation", "interpolation"] if FAST else ["validation", "interpolation", "extrapolation"]
PROBLEMS = 2 if FAST else None  # how many of a split the loop with mistakes is tried on; None: all

# %%
from dataclasses import replace

import pandas as pd
from IPython.display import HTML

import sgp

SUITE = "state-centric"
suite = sgp.load_suite(SUITE)
committed = sgp.load_scores()
committed = committed[committed.suite == SUITE]
printed = sgp.load_scores("published/state-centric")
printed = printed[printed.table == "1"]
dates = sorted({note.split(",")[0] for note in committed.note if note.startswith("2")})
print(f"committed measurements of {', '.join(dates)}; {len(printed)} published numbers")


def rate(solved, count, distinct=None):
    """A rate with its n and its 95 % Wilson interval, which is on the distinct problems where they are fewer."""
    bounds = sgp.wilson(solved / count, distinct or count)
    value, low, high = (f"{each:.2f}".removeprefix("0") for each in (solved / count, *bounds))
    return f"{value} [{low}, {high}], n = {count}{f' ({distinct} distinct)' if distinct else ''}"


# %% [markdown]
# ## The whole table
#
# From the committed measurements, the published numbers below ours: the extrapolation split, then, folded, all three.

# %%
sgp.experiments.paper_table("state-centric", 1, committed, splits=["extrapolation"])

# %%
whole = sgp.experiments.paper_table("state-centric", 1, committed)
HTML(f"<details><summary>all three splits</summary>{whole.html()}</details>")

# %% [markdown]
# The eight variants of the paper, measured and published, with their intervals: where the intervals of a line do not
# meet, there is something to explain. Goal count is the trivial planner that moves to the fewest open goals.


# %%
VARIANTS = [
    f"{encoder}-{model}-{mode}"
    for encoder in ("fsf", "wl")
    for model in ("lstm", "xgboost")
    for mode in ("state", "delta")
]
both = pd.concat([committed, printed])
both = both[(both.metric == "coverage") & both["size"].isna()]
cells = sgp.experiments.pool_seeds(both, ["paper", "planner", "domain", "split"])
cells = cells.set_index(["paper", "planner", "domain", "split"]).sort_index()
NAMES = {f"state-centric {variant}": variant for variant in VARIANTS} | {"goal-count unsatisfied": "goal count"}
sgp.viz.beside_published(both, "Coverage of the extrapolation split", NAMES, "extrapolation")

# %% [markdown]
# Which cells of the table those are, over all three splits:

# %%
ours, theirs = cells.loc[""], cells.loc["state-centric"]
pairs = theirs.merge(ours, left_index=True, right_index=True, suffixes=("", "_ours"))
apart = pairs[(pairs.low > pairs.high_ours) | (pairs.low_ours > pairs.high)].reset_index()
apart = apart[["domain", "split", "planner", "count", "text_ours", "text"]]
apart.set_axis(["domain", "split", "planner", "n", "ours", "published"], axis="columns").style.hide(axis="index")

# %% [markdown]
# ## Training time
#
# Coverage of the extrapolation split against the seconds of a training (means over seeds), on one or two cores. The
# paper reports no times.

# %%
SIX = ["wl-xgboost-delta", "wl-xgboost-state", "wl-lstm-delta", "wl-lstm-state", "fsf-lstm-delta", "aiw"]
sgp.viz.coverage_against(
    committed[committed.variant.isin(SIX)], "training_seconds", "Extrapolation coverage against seconds of training"
)

# %% [markdown]
# ## An illustration: a part of the table, made here
#
# `sgp.experiments.grid_cells` names the cells of a grid, `sgp.experiments.run_grid` trains and evaluates what the
# store does not have yet; VAL judges every plan. The result must equal the committed one, problem by problem.
# One model is tried twice: `decodings` names ways of planning with a run, and `jumps` (more of it below) needs no
# training of its own.

# %%
grid = sgp.experiments.grid_cells(SUITE, DOMAINS, METHODS, splits=SPLITS, seeds=(13,) if FAST else (13, 14, 15))
grid += sgp.experiments.grid_cells(
    SUITE, DOMAINS, {"state-centric": ["wl-xgboost-delta"]}, splits=SPLITS, decodings=["jumps"]
)
results = sgp.experiments.run_grid(grid)
known = sgp.load_attempts()
known = known[known.suite == SUITE]
key = ["planner", "domain", "split", "seed", "problem"]
made = results.attempts[[*key, "solved"]].merge(known[[*key, "solved"]], on=key, validate="one_to_one")
made = made.rename(columns={"solved_x": "here", "solved_y": "committed"})
assert len(made) == len(results.attempts)
table = made.groupby(["domain", "planner", "split"], sort=False)[["here", "committed"]].agg(list)
table = table.map(lambda solved: rate(sum(solved), len(solved)))
different = int((made.here != made.committed).sum())
print(f"{different} of {len(made)} attempts ended otherwise than the committed ones")
assert not (FAST and different)  # recurrent networks, of the full grid, may round otherwise on another machine
table

# %% [markdown]
# Extrapolation in Gripper, with an LSTM, FSF features and the trivial planner, seed 13. LSTMs are reproducible on one
# type of processor only, so that their attempts may end otherwise than the committed ones.

# %%
LIVE = {"state-centric": ["wl-lstm-state", "fsf-xgboost-delta"], "goal-count": ["unsatisfied"]}
larger = sgp.experiments.run_grid(
    sgp.experiments.grid_cells(SUITE, ["gripper"], LIVE, (13,), ["extrapolation"])
).attempts
groups = larger.groupby("planner", sort=False)
here = {planner: rate(part.solved.sum(), len(part)) for planner, part in groups}
known_cells = cells.loc[""].xs(("gripper", "extrapolation"), level=("domain", "split"))
pd.DataFrame({"here": here, "committed": {planner: known_cells.text.get(planner, "") for planner in here}})

# %% [markdown]
# ## The decoding loop, and its mistakes
#
# The loop of the package (`sgp.Planner`) once more, in thirty lines, with switches. It keeps a beam of paths. At each
# step it asks the policy for the cost of every successor, takes the goal where it is among them, and else keeps the
# cheapest unvisited successors, the first of equal ones. The mistakes that can be switched on:
#
# - **1** static facts are in the training states and missing when plans are decoded, so that no state looks as it did;
# - **2** the search ends as soon as the *first* path of the beam has no unvisited successor;
# - **3a** every path has visited states of its own, so that paths run into each other's;
# - **3b** successors that the model cannot tell apart are all kept, so that the beam fills with twins;
# - **5a** ties are broken by the text of the plan;
# - **5b** a state reached at the last step is not tested for the goal;
# - **5c** the initial state does not count as visited (published for the LSTM alone).
#
# Mistake 4 is one of training and stands below; one more, a missing validator that counts as *not solved*, needs no
# measurement.


# %%
def decode(planner, task, mistakes=()):
    """The plan that the published loop finds with some of its mistakes; None where it finds none."""
    policy, most = planner.policy, max(100, 10 * task.size)
    if "1" in mistakes:
        policy = replace(policy, encoder=policy.encoder.without_static())
    start = set() if "5c" in mistakes else {task.init}
    beam, visited = [(sgp.Node(task, task.init), (), start)], set(start)
    while beam:
        choices = [planner.successors(task, node.state) for node, _, _ in beam]
        closed = [own if "3a" in mistakes else visited for _, _, own in beam]
        if "2" in mistakes and all(each.state in closed[0] for each in choices[0]):
            return None
        pool = []
        rankings = policy.rank([node for node, _, _ in beam], choices)
        for (node, plan, own), choice, ranking, taken in zip(beam, choices, rankings, closed, strict=True):
            for place, each in enumerate(choice):
                if each.state not in taken:
                    if task.is_goal(each.state) and not ("5b" in mistakes and node.length + 1 == most):
                        return plan + each.actions
                    pool.append((node.cost + ranking.costs[place], ranking, place, each, node, plan, own))
        beam = []
        while pool and len(beam) < planner.width:
            tied = min(cost for cost, *_ in pool) * (1 + 1e-6)
            equal = [other for other in pool if other[0] <= tied]
            best = min(equal, key=lambda it: [*map(str, it[5] + it[3].actions)]) if "5a" in mistakes else equal[0]
            cost, ranking, place, each, node, plan, own = best
            twin = [other is best or ("3b" not in mistakes and alike(other, best)) for other in pool]
            pool = [other for other, dropped in zip(pool, twin, strict=True) if not dropped]
            after = sgp.Node(task, each.state, ranking.memories[place], float(cost), each, node, node.length + 1)
            beam.append((after, plan + each.actions, own | {each.state}))
        visited.update(node.state for node, _, _ in beam)
        beam = [path for path in beam if path[0].length < most]
    return None


def alike(one, other):
    """Whether two candidates of the pool have one vector or one state."""
    return one[1].keys[one[2]] == other[1].keys[other[2]] or one[3].state == other[3].state


# %% [markdown]
# With no switch on it is the loop of the package with the method's decoding `default`: on every problem tried below the
# same plan, or none.

# %%
SETTINGS = {
    "none": (),
    "1 no static facts": ("1",),
    "2 ends with the first path": ("2",),
    "3a visited states a path": ("3a",),
    "3b twins kept": ("3b",),
    "3a and 3b": ("3a", "3b"),
    "5a ties by text": ("5a",),
    "5b goal missed at the end": ("5b",),
    "5c initial state open": ("5c",),
    "all": ("1", "2", "3a", "3b", "5a", "5b"),
    "all but 1": ("2", "3a", "3b", "5a", "5b"),
    "all but 2": ("1", "3a", "3b", "5a", "5b"),
    "all but 3": ("1", "2", "5a", "5b"),
}


def with_mistakes(domain, split, variant="wl-xgboost-delta"):
    """For each setting and problem of a split whether it is solved; with no mistake as by the package."""
    planner = sgp.load_planner(sgp.train("state-centric", domain, SUITE, variant).folder)
    planner.policy.predictor.model.use_threads(1)  # for a few rows at a time more threads only wait for each other
    tasks = [sgp.Task(problem) for problem in suite.problems(domain, split)[:PROBLEMS]]
    for task, rollout in zip(tasks, planner.solve_many(tasks), strict=True):
        assert decode(planner, task) == (rollout.plan if rollout.solved else None), task
    return {
        name: [decode(planner, task, mistakes) is not None for task in tasks] for name, mistakes in SETTINGS.items()
    }


places = [("gripper", "interpolation"), ("logistics", "interpolation")]
if not FAST:
    places += [
        ("gripper", "validation"),
        ("gripper", "extrapolation"),
        ("logistics", "validation"),
        ("blocksworld", "extrapolation"),
    ]
solved = {place: with_mistakes(*place) for place in places}

# %%
wl = "state-centric wl-xgboost-delta"
lines = {
    f"{domain}, {split}": {
        **{name: rate(sum(each), len(each)) for name, each in solved[domain, split].items()},
        "published": f"{theirs.text[wl, domain, split]}, n = {suite_count}",
        "ours, committed": f"{ours.text[wl, domain, split]}, n = {suite_count}",
    }
    for domain, split in places
    for suite_count in [len(suite.problems(domain, split))]
}
print("WL-XGBoost delta, coverage with mistakes switched on" + f", on the first {PROBLEMS} problems of a split" * FAST)
pd.DataFrame(lines)

# %% [markdown]
# With all of them on, the loop comes near the published numbers; with none, it is ours. In Gripper the second mistake
# is enough to lose what is otherwise solved, and mending it alone (*all but 2*) wins it back: once the neighbours of
# the first path's state are all visited, the other two paths, which could go on, are dropped with it. In Logistics the
# missing static facts weigh most: alone they lose the most, mended alone they win back the most, since without
# `in-city` no truck and no place looks as in training. Paths that share no visited states and twins in the beam cost a
# problem here and there. The counts are small: read the intervals. A mistake can also help: with `FAST = False`,
# Gripper's extrapolation is solved far more often *without* static facts than with them.
#
# ### Mistake 4: stopping by the split that is reported
#
# Boosting stops when the error on the validation trajectories has not fallen for ten rounds, of at most 1000. In three
# of the domains they are two to four problems, larger than those of training, and the same problems are then reported
# as *validation*. It stops early. Every round adds a tenth of what is still missing, so that after r rounds at most
# 1 - .9^r of a change can have been learned: what is predicted is too short, and near to where nothing changes. Table 7
# has it so, and so have we; these are the rounds that the runs of this notebook kept:

# %%
runs = {
    domain: sgp.train("state-centric", domain, SUITE, "wl-xgboost-delta")
    for domain in dict(places) | dict.fromkeys(DOMAINS)
}
pd.DataFrame(
    {
        domain: {
            "rounds kept": run.record["facts"]["rounds"],
            "at most learned": f"{1 - (1 - rate_of_learning) ** run.record['facts']['rounds']:.2f}",
            "validation trajectories": run.record["data"]["validation"],
            "training transitions": run.record["data"]["transitions"],
        }
        for domain, run in runs.items()
        for rate_of_learning in [run.training["boosting"]["learning_rate"]]
    }
).T

# %% [markdown]
# ## One training, several decodings
#
# A run holds what was learned. How it is decoded is said when it is used: so far it was `default`, the paper's beam of
# 3. The method has three more decodings: `greedy` keeps one path, `no-statics` makes mistake 1, and `jumps`, which is
# ours, takes the nearest of the states that a lookahead reaches instead of the nearest successor. None of them needs
# another training: a column below is one run, tried on all problems of the split, and a difference within it is one of
# decoding alone.

# %%
DECODINGS = ("default", "greedy", "no-statics", "jumps")
decoded = {}
for domain, split in places:
    evaluation = sgp.evaluate([runs[domain].folder], SUITE, [split], decodings=DECODINGS)
    for (_, decoding, _), tried in evaluation.attempts.items():
        decoded[f"{domain}, {split}", decoding] = rate(sum(each.solved for each in tried), len(tried))
pd.Series(decoded).unstack(0, sort=False)

# %% [markdown]
# A single setting of a decoding can be changed, too, as in `default+beam=1`. On the command line
# `sgp evaluate RUN --suite state-centric --decoding default,jumps` does the same. In the whole table above, WL-XGBoost
# delta with jumps has a line of its own.
#
# ### Mistake 1 in VisitAll
#
# One difference in the plot above goes the other way: WL-LSTM state in VisitAll, where ours is *below* the published.
# There the first mistake helps: decoded without static atoms the same network solves far more. It takes minutes, so
# that the fast path leaves it out.

# %%
if not FAST:
    lstm = {"state-centric": ["wl-lstm-state"]}
    for decoding in ("default", "no-statics"):
        cells = sgp.experiments.grid_cells(SUITE, ["visitall"], lstm, (13,), ["extrapolation"], decodings=(decoding,))
        tried = sgp.experiments.run_grid(cells).attempts
        different = {row.first for row in tried}  # many are one problem with its cells renamed
        print(decoding, rate(sum(row.solved for row in tried), len(tried), len(different)))

# %% [markdown]
# What remains is explained elsewhere: what the FSF slots cannot hold in notebook 04, Gripper's LSTM in 06, Logistics in
# 07; A* with LM-cut had other limits on time and memory, and the problems are not the paper's.
#
# ## In the dashboard
#
# The step of a recorded Gripper rollout at which most of the successors are visited: where the published loop, had this
# been its first path, would be about to end.

# %%
recorded = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.variant) == ("gripper", "wl-xgboost-delta")
)
visited = [
    sum("visited" in each["marks"] for each in step["candidates"]) / len(step["candidates"]) for step in recorded.steps
]
step = 1 + visited.index(max(visited))
print(f"{recorded.head['name']}, step {step} of {len(visited)}: {max(visited):.0%} of the successors are visited")
sgp.viz.link(recorded, step=step)

# %% [markdown]
# ## The full result
#
# ```sh
# sgp grid --baselines --diagnostics
# sgp grid --variants state-centric:wl-xgboost-delta --decoding jumps --out jumps
# sgp grid --variants goal-count --decoding default,greedy --diagnostics
# ```
#
# Hours of the committed measurement: wall-clock time of training and of planning.

# %%
training = committed[(committed.metric == "training_seconds") & (committed.decoding == "default")]
training = training.groupby("method").value.agg(["count", "sum"])
planning = sgp.load_attempts()
planning = planning[planning.suite == SUITE].groupby("method").seconds.sum()
hours = pd.DataFrame({"hours of training": training["sum"] / 3600, "hours of planning": planning / 3600})
hours.insert(0, "trainings", training["count"].astype("Int64"))
hours.round(2)

# %% [markdown]
# ## Exercises
#
# 1. WL-XGBoost delta solves 4 of 20 Blocksworld problems here, 10 of 20 in the paper. Do the intervals meet?
#
#    <details><summary>Solution</summary>
#
#    Yes: [.08, .42] and [.30, .70]. Twenty problems each do not show a difference.
#
#    </details>
#
# 2. Change `width` in `decode` (`len(beam) < planner.width`) to 1 and predict what mistakes 2, 3a and 3b then do.
#
#    <details><summary>Solution</summary>
#
#    With one path, 3a and 3b change nothing: there is no other path whose states are taken and no second place for a
#    twin. Mistake 2 ends the search where it would end anyway.
#
#    </details>
#
# 3. Goal count solves Gripper and VisitAll without learning. Which cells of Table 1 still show that a model
#    generalizes?
#
#    <details><summary>Solution</summary>
#
#    Those of Blocksworld and Logistics, where goal count solves .05 and .00.
#
#    </details>
#
# 4. Why may a mistake help?
#
#    <details><summary>Solution</summary>
#
#    A wrong visited set or a missing fact changes which states are tried. Where the model's first choice is wrong, any
#    change of the order can lead to a goal by chance.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - Three problems of validation stop the training and are then reported as a split. What should the table say about
#   them?
# - The published numbers were measured on other instances. What would you need to call a difference a failure to
#   reproduce?
# - Which baseline should every paper on generalized planning report?
#
# **Sixty minutes.** 10 minutes: the card and Table 1. 10: cells whose intervals do not meet. 20: the decoding loop and
# its mistakes. 20: exercises 2 and 3, third question. Skip the sections after mistake 4.
