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
# # Your own domain: twenty small problems in, a planner out
#
# What does it take to get a planner for a domain that `sgp` has never heard of? A PDDL domain, about twenty small
# problems, and a minute. This notebook does it for a new domain, measures the planner on larger problems, and shows
# what to do when one fails. To use it for your own domain, change the cells that write PDDL.
#
# - **Paper:** none: the domain is new, so that no published number stands beside the measured ones
# - **Question:** how far does a planner get that learned from twenty small problems of your domain?
# - **Commands:** `sgp import FOLDER --suite mine`, `sgp train --method contrastive-jumps --domain DOMAIN --suite mine`,
#   `sgp solve domain.pddl problem.pddl`

# %% tags=["parameters"]
FAST = True  # 12 larger problems and one setting chosen; False: 60 and all settings, some three minutes more
SMALL = 20  # problems to learn from
ACTIONS = 150  # a plan may have at most so many
SUITE = "courier"  # the name under which the problems are kept

# %%
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported: everything is small here, threads would only wait

import random
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
from IPython.display import Markdown

import sgp

pd.options.display.max_colwidth = None

# %% [markdown]
# ## 1 · The domain
#
# A courier walks along a corridor of rooms with doors between them. Some doors are locked, and a key fits one door. The
# courier carries one thing at a time, a parcel or a key. Parcels have to be brought to their rooms.
#
# There is something to learn here: which key is worth fetching, that a key has to be put down before a parcel can be
# taken, and that a parcel that has arrived is better left alone.

# %%
DOMAIN = """(define (domain courier)
  (:requirements :strips :typing :negative-preconditions :equality)
  (:types room door thing - object parcel key - thing)
  (:predicates
    (beside ?d - door ?r - room)
    (fits ?k - key ?d - door)
    (open ?d - door) (locked ?d - door)
    (at ?r - room)
    (in ?t - thing ?r - room)
    (carries ?t - thing) (hands-free))
  (:action walk
    :parameters (?d - door ?a - room ?b - room)
    :precondition (and (at ?a) (beside ?d ?a) (beside ?d ?b) (not (= ?a ?b)) (open ?d))
    :effect (and (at ?b) (not (at ?a))))
  (:action unlock
    :parameters (?k - key ?d - door ?a - room)
    :precondition (and (at ?a) (beside ?d ?a) (fits ?k ?d) (carries ?k) (locked ?d))
    :effect (and (open ?d) (not (locked ?d))))
  (:action take
    :parameters (?t - thing ?r - room)
    :precondition (and (at ?r) (in ?t ?r) (hands-free))
    :effect (and (carries ?t) (not (in ?t ?r)) (not (hands-free))))
  (:action leave
    :parameters (?t - thing ?r - room)
    :precondition (and (at ?r) (carries ?t))
    :effect (and (in ?t ?r) (hands-free) (not (carries ?t)))))
"""

# %% [markdown]
# ## 2 · Problems
#
# A few lines make random ones. The courier starts in the first room, and the key of a locked door lies somewhere before
# it, so that every problem has a solution. With problems of your own, write them to the same folders: `train` to learn
# from, and any other folder names for problems to be measured on.


# %%
def courier_problem(rng, rooms, locks, parcels):
    """PDDL of a corridor with so many rooms, locked doors and parcels."""
    locked = sorted(rng.sample(range(rooms - 1), locks))
    init = ["(at r0)", "(hands-free)"]
    for door in range(rooms - 1):
        init += [f"(beside d{door} r{door})", f"(beside d{door} r{door + 1})"]
        init.append(f"(locked d{door})" if door in locked else f"(open d{door})")
    init += [f"(fits k{door} d{door}) (in k{door} r{rng.randint(0, door)})" for door in locked]
    places = [rng.sample(range(rooms), 2) for _ in range(parcels)]
    init += [f"(in p{number} r{start})" for number, (start, _) in enumerate(places)]
    goal = [f"(in p{number} r{end})" for number, (_, end) in enumerate(places)]
    objects = ["r0 - room"]
    objects += [f"d{door} - door r{door + 1} - room" for door in range(rooms - 1)]
    objects += [f"k{door} - key" for door in locked] + [f"p{number} - parcel" for number in range(parcels)]
    return f"""(define (problem courier-{rooms}-{locks}-{parcels}) (:domain courier)
  (:objects {" ".join(objects)})
  (:init {" ".join(init)})
  (:goal (and {" ".join(goal)})))
"""


# %% [markdown]
# Twenty small ones, of at most four rooms and two parcels; some in the *middle*, to choose settings by if need be; and
# *larger* ones, of up to twelve rooms, five locks and six parcels, which nothing is chosen by: they give the result.

# %%
rng = random.Random(1)
scratch = Path(tempfile.mkdtemp())
small = [(3 + number % 2, number % (3 + number % 2), 1 + number % 3 // 2) for number in range(SMALL)]
middle = [(5 + number % 2, 1 + number % 3, 2 + number % 2) for number in range(6)]
larger = [(6 + number % 4 * 2, 2 + number % 4, 3 + number % 4) for number in range(12 if FAST else 60)]
for place, sizes in (
    ("own/courier/train", small),
    ("own/courier/larger", larger),
    ("chosen-by/courier/middle", middle),
):
    folder = scratch / place
    folder.mkdir(parents=True)
    (folder.parent / "domain.pddl").write_text(DOMAIN)
    for number, (rooms, locks, parcels) in enumerate(sizes):
        (folder / f"p{number:02}.pddl").write_text(courier_problem(rng, rooms, locks, parcels))
suite = sgp.import_folder(scratch / "own", SUITE, overwrite=True)
middle_suite = sgp.import_folder(scratch / "chosen-by", f"{SUITE}-middle", overwrite=True)
pd.DataFrame(
    [
        (found.name, split, len(entries), min(each.size for each in entries), max(each.size for each in entries))
        for found in (suite, middle_suite)
        for split, entries in found.domains["courier"].splits.items()
    ],
    columns=["suite", "split", "problems", "objects, least", "objects, most"],
)

# %% [markdown]
# `sgp.import_folder` reads every file before it stores any. Quantifiers, conditional effects and disjunctions are
# compiled. PDDL that `sgp` does not support, such as numeric conditions, is refused with the file and the line.
#
# `sgp` draws its own domains with care. For any other it draws the objects in a circle and the atoms as lines, which is
# enough to follow a small problem.

# %%
first = sgp.Task(suite.problems("courier", "train")[4])
sgp.viz.picture(first)

# %% [markdown]
# ## 3 · Expert plans
#
# The teacher is Fast Downward: A* with LM-cut, and a greedy search where that takes too long. Plans are kept beside the
# suite. Every fifth training problem is held out as validation, for the methods that need one.

# %%
data = sgp.load_training_data(suite, "courier")
lengths = [len(each) for each in data.train]
print(f"{len(data.train)} plans of {min(lengths)} to {max(lengths)} actions; {len(data.validation)} held out")
print(sgp.format_plan(data.train[4].actions))

# %% [markdown]
# ## 4 · A planner
#
# *Contrastive jumps*, our own method, with the settings it has for every domain. It needs no more than the plans' small
# problems: it expands their state spaces and learns to tell, of all the states that a short lookahead reaches, those on
# a shortest way to the goal from the others.

# %%
run = sgp.train("contrastive-jumps", "courier", SUITE)
facts = run.record["facts"]
print(f"{facts['decisions']} decisions, {facts['dimension']} features, {facts['seconds']:.1f} s")

# %% [markdown]
# ## 5 · Larger problems
#
# Every plan is checked by VAL, an independent program; only plans that VAL accepts count, and only those of at most
# `ACTIONS` actions (for the other planner below, too). The rollouts are kept where
# the dashboard looks for them.

# %%
limit = sgp.Limit(actions=ACTIONS)
evaluation = sgp.evaluate([run.folder], SUITE, ["larger"], limit=limit, rollouts=sgp.data.own_rollouts_folder())
(attempts,) = evaluation.attempts.values()
pd.DataFrame(
    [(each.problem, each.size, str(each.outcome), len(each.plan), round(each.seconds, 2)) for each in attempts],
    columns=["problem", "objects", "outcome", "actions", "seconds"],
)


# %%
def coverage(attempts):
    """The rate of solved problems in words, with n and its 95 % Wilson interval."""
    solved, n = sum(each.solved for each in attempts), len(attempts)
    low, high = sgp.wilson(solved / n, n)
    return f"{solved} of n = {n}, coverage {solved / n:.2f}, 95 % interval [{low:.2f}, {high:.2f}]"


print(coverage(attempts))

# %% [markdown]
# VAL's own words on the longest of these plans:

# %%
problems = {each.name: each for each in suite.problems("courier", "larger")}
longest = max((each for each in attempts if each.solved), key=lambda each: len(each.plan))
rollout = sgp.solve(problems[longest.problem], run.folder, limit)
report = sgp.validate(rollout.task.problem, rollout.plan).report.splitlines()
print(longest.problem, *(line for line in report if line.startswith(("Plan executed", "Plan valid"))), sep="\n")

# %% [markdown]
# ## 6 · Looking at a plan
#
# The player knows nothing of corridors; it draws what the PDDL says. Click into it, → steps on, ? lists the keys. A
# step is a *jump*: one decision, several actions. The shortest of the plans:

# %%
shortest = min((each for each in attempts if each.solved), key=lambda each: len(each.plan))
rollout = sgp.solve(problems[shortest.problem], run.folder, limit)
sgp.show(sgp.data.as_recorded(rollout, run.folder))

# %% [markdown]
# The same rollout in the dashboard, beside all others of this notebook:


# %%
def kept():
    """The rollouts of the larger problems that the dashboard has, by every model."""
    found = sgp.recorded_rollouts(sgp.data.own_rollouts_folder()).rollouts
    return [each for each in found if each.head["sha256"] in {problem.sha256 for problem in problems.values()}]


recorded = {(each.about.method, each.head["name"]): each for each in kept()}
sgp.viz.link(recorded["contrastive-jumps", shortest.problem], step=1)

# %% [markdown]
# ## 7 · When it fails
#
# Not every method learns every domain. The state-centric planner, from the same twenty problems:

# %%
other = sgp.train("state-centric", "courier", SUITE, "wl-xgboost-delta")
evaluation = sgp.evaluate([other.folder], SUITE, ["larger"], limit=limit, rollouts=sgp.data.own_rollouts_folder())
(others,) = evaluation.attempts.values()
print(f"contrastive jumps: {coverage(attempts)}")
print(f"state-centric, WL, XGBoost, delta: {coverage(others)}")

# %% [markdown]
# What went wrong? `sgp.analysis.failure_of` says of a recorded rollout at which step which kind of trouble began. The
# dashboard's page *Failures* lists the same, each with a link to that step.

# %%
failures = [(each, failure) for each in kept() if (failure := sgp.analysis.failure_of(each)) is not None]
kinds = Counter(failure.primary.kind for _, failure in failures)
pd.DataFrame(
    [(kind.value, count, kind.definition) for kind, count in kinds.most_common()],
    columns=["kind", "rollouts", "definition"],
)

# %% [markdown]
# The first of them, opened at that step: what did the planner prefer, and to what? Of every candidate the table in the
# player has the cost, and what it would add and delete.

# %%
worst, step = (failures[0][0], failures[0][1].primary.step) if failures else (kept()[0], 1)
sgp.show(worst, step=step)

# %%
sgp.viz.link(worst, step)

# %% [markdown]
# Is the model to blame, or what it is made of? `sgp.diagnose` replays expert plans, here of the middle problems, and
# asks in every state how the model ranks the expert's successor (`expert_top1`: how often first), how many successors
# it cannot tell apart, and how many problems *perfect* predictions would solve. Where perfect predictions fail, the
# features cannot tell the right successor from the others: other features or candidates are called for, not more
# training.

# %%
scores = sgp.diagnose([other.folder], middle_suite.name)
rates = {"expert_top1", "expert_top3", "perfect_coverage"}
pd.DataFrame(
    [
        (
            each.metric,
            round(each.value, 2),
            each.n,
            "[{:.2f}, {:.2f}]".format(*sgp.wilson(each.value, each.n)) if each.metric in rates else "",
        )
        for each in scores[scores["size"].isna()].itertuples()
    ],
    columns=["metric", "mean", "n", "95 % interval"],
)

# %% [markdown]
# And if it is contrastive jumps that fails in your domain: its settings were chosen on four other domains.
# `sgp.experiments.select` tries the values of each setting on problems that are larger than those of training, here the
# suite of the middle ones, and keeps the best. The result is then measured on the larger problems, which the choice has
# not seen.

# %%
trials, chosen = sgp.experiments.select(
    "contrastive-jumps", SUITE, middle_suite.name, settings=["candidates"] if FAST else ()
)
print("chosen:", *(f"{setting}={value}" for setting, value in chosen.items()))
Markdown(sgp.experiments.trials_table(trials, "Settings").markdown())

# %% [markdown]
# Six problems tell only large differences: among values of equal coverage the choice is by plan length, then by speed.
# What else can be changed:
#
# - The problems: a situation that no training problem has cannot be learned. Where the whole state space of a training
#   problem has at most 20,000 states, the labels are exact, so many small problems are better than a few large ones.
# - `candidates`: `aiw` and `iw` look some actions ahead, `one-step` does not; a lookahead can pass by what matters.
# - `labels.source`: `expert` or `dagger` learn from plans, where state spaces are too large.
# - `embedding.iterations`, `embedding.open_atoms`, `embedding.closed_atoms`: how far from a change the features look.
#
# `overrides` of `sgp.train` sets them (`overrides={"candidates": "one-step"}`), and so does `--set` below. What each of
# them did in the bundled domains stands in `docs/settings.md`, section "What each ingredient does".
#
# Another way of decoding needs no training. `sgp.evaluate` takes `decodings=["default", "greedy"]` and tries one run
# with the beam and without; `sgp.solve` takes `decoding="default+beam=10"` to follow more paths than usual. What
# `sgp.experiments.select` chooses as `decoding.beam` or `decoding.margin` is such a setting, and is given in the same
# way.

# %% [markdown]
# ## 8 · The same from the command line
#
# ```sh
# sgp import FOLDER --suite courier                                       # FOLDER/courier/domain.pddl
# sgp train --method contrastive-jumps --domain courier --suite courier   # prints the run's folder
# sgp evaluate RUN --suite courier --splits larger --record               # coverage, judged by VAL
# sgp solve domain.pddl problem.pddl --run RUN --plan plan.txt            # any problem of the domain
# sgp solve domain.pddl problem.pddl --run RUN --html plan.html           # the player as one file
# sgp evaluate RUN --suite courier-middle --diagnose                      # ranks of the expert's choices
# sgp grid --preset select --suite courier --validation courier-middle    # settings by validation
# sgp train --method contrastive-jumps --domain courier --suite courier --set candidates=one-step
# sgp evaluate RUN --suite courier --splits larger --decoding default,greedy
# sgp dashboard                                                           # Failures, What if, Your own problem
# ```
#
# The domain is new, so there are no published numbers.

# %% [markdown]
# ## Exercises
#
# 1. Set `SMALL` to 5 and predict which step fails first.
#
#    <details><summary>Solution</summary>
#
#    Choosing settings: with few validation problems all settings have the same coverage, so the first in the list is
#    taken. There is no committed number; compare the intervals.
#
#    </details>
#
# 2. Give the courier a second vehicle. Which cells must change?
#
#    <details><summary>Solution</summary>
#
#    Only those that write PDDL. Features, labels and candidates are made from the domain, so training needs no change.
#
#    </details>
#
# 3. A larger problem ends at its limit. How do you find out whether a plan was near?
#
#    <details><summary>Solution</summary>
#
#    Raise the limit, and look at the number of open goals over the steps: if it still falls, the limit was too low; if
#    it does not, the planner wanders.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - How would you choose the sizes of the small problems for your own domain?
# - What must a domain have so that twenty problems are enough?
#
# **Sixty minutes.** 10 minutes: the domain and its problems. 15: training and larger problems. 15: when it fails. 20:
# exercise 2, in pairs.
