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
# # WL or FSF: what a state's vector should contain
#
# The paper compares two embeddings, WL and FSF, and fixes everything else about WL: two rounds, multisets, static
# atoms. More rounds distinguish more states, and meet more colours at test time that training never had. This notebook
# measures both, and what is solved.
#
# - **Paper:** "On Sample-Efficient Generalized Planning via Learned Transition Models" (state-centric): columns of
#   Table 1, appendix E.4
# - **Question:** which of the choices of the embedding matter?
# - **The paper claims:** extrapolation: the best WL variant solves .50 in Blocksworld, .42 in Gripper and 1.00 in
#   VisitAll, the best FSF variant .00, .04 and .16. The WL vectors have 138 to 552 entries (Table 3), or 412 to 723
#   (appendix E.4)
# - **Measured here:** best WL .45, 1.00 and .98; best FSF .00, .19 and .44. The number of rounds, the hash and static
#   atoms were varied on the fast path only
# - **What differs:** other problems of the same sizes, a decoder without the published mistakes
# - **Fast path:** a few minutes on two cores

# %% tags=["parameters"]
FAST = True  # one problem a size, and few runs; False: all problems, and every setting trained in all domains (hours)
SIZES = 5 if FAST else None  # sizes of extrapolation, evenly spread, for which unseen colours are counted; None: all

# %%
from dataclasses import replace

import numpy as np
import pandas as pd

import sgp

SUITE = "state-centric"
suite = sgp.load_suite(SUITE)
committed = sgp.load_scores()
committed = committed[committed.suite == SUITE]
printed = sgp.load_scores("published/state-centric")
printed = printed[printed.table == "1"]

# %% [markdown]
# ## What was measured, beside Table 1
#
# The eight variants on the extrapolation split, four with WL and four with FSF, with 95 % Wilson intervals.

# %%
titles = {f"state-centric {variant}": variant for variant in sgp.get_method("state-centric").variants}
sgp.viz.beside_published(
    pd.concat([committed, printed]), "Coverage of the extrapolation split, WL and FSF", titles, "extrapolation"
)

# %% [markdown]
# The paper states the dimension of its WL vectors twice, in Table 3 (notebook 02) and in appendix E.4. They disagree;
# wlplan reproduces Table 3 on the published training problems. The second statement:

# %%
sgp.experiments.paper_table("state-centric", "E.4", committed)

# %% [markdown]
# ## The choices
#
# `WLConfig` has k, the rounds of refinement (after none of them a colour is only a kind of node), and the hash: whether
# a neighbourhood is a *multiset* of colours, which counts how often each occurs, or a *set*, which does not. Static
# facts are those that no action changes (`in-city`, `connected`); taking them away at test time is what the published
# implementation does by accident. FSF has a slot for each object.

# %%
CONFIGS = {
    "WL k=0": sgp.data.WLConfig(iterations=0),
    "WL k=1": sgp.data.WLConfig(iterations=1),
    "WL k=2": sgp.data.WLConfig(),
    "WL k=3": sgp.data.WLConfig(iterations=3),
    "WL k=2 set": sgp.data.WLConfig(hash="set"),
}
data = {domain: sgp.load_training_data(suite, domain) for domain in suite.domains}
encoders = {}
for domain, of_domain in data.items():
    states = [(each.task, each.states) for each in of_domain.train]
    encoders[domain] = {name: sgp.data.WLEncoder.fit(config, states) for name, config in CONFIGS.items()}
    encoders[domain]["WL k=2 no static"] = encoders[domain]["WL k=2"].without_static()
    encoders[domain]["FSF"] = sgp.data.FSFEncoder(suite.built_in_domain(domain), of_domain.largest)

# %% [markdown]
# ### Dimension
#
# One column for each colour that training met. It grows fast with k, while the transitions to learn from stay as many
# as they are:

# %%
dimensions = pd.DataFrame(
    {domain: {name: each.dimension for name, each in own.items()} for domain, own in encoders.items()}
)
dimensions.loc["transitions in training"] = [sum(map(len, each.train)) for each in data.values()]
dimensions

# %% [markdown]
# ### Colours that training never met
#
# They are dropped: the part of a state that they stand for is not seen. The share of them among all colours of a state,
# over the states of an expert's plan, by the size of the problem (one problem a size on the fast path):


# %%
def spread(trajectories, most):
    """One trajectory a size and at most so many sizes, evenly; all where there is no limit."""
    if most is None:
        return trajectories
    by_size = {each.task.size: each for each in trajectories}
    sizes = sorted(by_size)
    return [by_size[sizes[place]] for place in np.unique(np.linspace(0, len(sizes) - 1, most).astype(int))]


unseen = []
interpolation = {domain: sgp.trajectories(suite, domain, "interpolation") for domain in suite.domains}
for domain in suite.domains:
    larger = sgp.trajectories(suite, domain, "extrapolation")
    tried = [each for found in (data[domain].train, interpolation[domain], larger) for each in spread(found, SIZES)]
    for each in tried:
        for name, encoder in encoders[domain].items():
            if name != "FSF":
                unseen.append((domain, name, each.task.size, float(encoder.unseen(each.task, each.states).mean())))
unseen = pd.DataFrame(unseen, columns=["domain", "encoder", "objects", "unseen"])

# %%
frame = unseen[unseen.encoder != "WL k=2 no static"].groupby(["domain", "encoder", "objects"], sort=False).unseen
frame = frame.agg(["mean", "count"]).reset_index().sort_values("objects", kind="stable")
frame = frame.set_axis(["panel", "planner", "x", "value", "n"], axis="columns")
sgp.viz.curves(frame, "Share of colours outside the training vocabulary, by size", "objects", "share of colours")

# %% [markdown]
# The largest training problem of each domain, and the share without static atoms (mean over the sizes), which would
# hide the differences between the other lines:

# %%
without = unseen[unseen.encoder == "WL k=2 no static"].groupby("domain", sort=False).unseen.mean().round(2)
largest = {domain: max(each.task.size for each in own.train) for domain, own in data.items()}
pd.DataFrame({"largest training problem": largest, "unseen without static atoms": without})

# %% [markdown]
# Every further round costs, most beyond the largest training problem, but also below it, at sizes that training skipped
# (Gripper's
# odd numbers of balls). There the multiset counts: a room with as many balls as no room in training has a colour of its
# own, and with it all that is one step away; the set, which does not count, stays at nothing new. In Blocksworld, where
# a neighbourhood rarely holds one colour twice, set and multiset are nearly one line. VisitAll's grids are locally
# alike: with two rounds nothing is new on a larger one. And without static facts about half of what is seen is unknown,
# on the training problems themselves (Blocksworld has no static facts): this is what mistake 1 of notebook 03 decodes
# with.
#
# ### Successors that look the same
#
# The other side of the same choices: of the unvisited successors at the states of the experts' plans for interpolation,
# the share that collapses into another (notebook 02 says when that is a loss; n counts decisions).

# %%
alike = {}
for domain in suite.domains:
    planner = sgp.load_planner(sgp.train("zero-change", domain, SUITE).folder)
    for name, encoder in encoders[domain].items():
        other = replace(planner, policy=replace(planner.policy, encoder=encoder))
        made = sgp.analysis.decisions(other, interpolation[domain])
        share = 1 - sum(each.distinguishable for each in made) / sum(each.candidates for each in made)
        alike[name, f"{domain}, n = {len(made)}"] = f"{share:.2f}"
pd.Series(alike).unstack(sort=False)

# %% [markdown]
# In Gripper all WL settings agree: what collapses are balls that can be exchanged, and only FSF, which knows them by
# name, keeps them apart. Elsewhere the first round does most and the third adds little. Without static facts it is in
# Logistics and VisitAll as if colours were not refined at all: a place is known by what it is connected to.
#
# ## What is solved
#
# WL-XGBoost delta, trained anew with each choice, all else equal. Static facts are the exception: they are taken away
# at test time alone, so that this line is no training of its own, but the run of WL k=2 by the decoding `no-statics`.
# On the fast path a few settings in Blocksworld, tried on its extrapolation split, and the static facts in Gripper, on
# its interpolation split; n is small, read the intervals.

# %%
SETTINGS = {  # variant and settings of training, and how it is decoded
    "WL k=0": ("wl-xgboost-delta", {"wl.iterations": "0"}, "default"),
    "WL k=1": ("wl-xgboost-delta", {"wl.iterations": "1"}, "default"),
    "WL k=2": ("wl-xgboost-delta", {}, "default"),
    "WL k=3": ("wl-xgboost-delta", {"wl.iterations": "3"}, "default"),
    "WL k=2 set": ("wl-xgboost-delta", {"wl.hash": "set"}, "default"),
    "WL k=2 no static": ("wl-xgboost-delta", {}, "no-statics"),
    "FSF": ("fsf-xgboost-delta", {}, "default"),
}
PARTS = [
    (name, domain, split)
    for domain in suite.domains
    for split in ("interpolation", "extrapolation")
    for name in SETTINGS
]
if FAST:
    PARTS = [(name, "blocksworld", "extrapolation") for name in ("WL k=1", "WL k=2", "WL k=2 set", "FSF")]
    PARTS += [(name, "gripper", "interpolation") for name in ("WL k=2", "WL k=2 no static", "FSF")]
coverage = {}
for name, domain, split in PARTS:
    variant, overrides, decoding = SETTINGS[name]
    planner = {"state-centric": [variant]}
    cells = sgp.experiments.grid_cells(SUITE, [domain], planner, (13,), [split], overrides, decodings=(decoding,))
    tried = sgp.experiments.run_grid(cells).attempts
    solved, different = list(tried.solved), set(tried.distinct_problem)  # but for the names of objects
    rate = np.mean(solved)
    value, low, high = (f"{each:.2f}".removeprefix("0") for each in (rate, *sgp.wilson(rate, len(different))))
    as_it_is = not overrides and decoding == "default"
    place = committed[(committed.domain == domain) & (committed.split == split) & committed["size"].isna()]
    place = place[(place.planner == f"state-centric {variant}") & (place.metric == "coverage")]
    (known,) = sgp.experiments.pool_seeds(place, ["planner"]).itertuples() if as_it_is else (None,)
    coverage[f"{domain}, {split}, n = {len(solved)}", name] = {
        "here": f"{value} [{low}, {high}]",
        "committed": "" if known is None else known.text,
    }
    assert known is None or abs(known.value - rate) < 1e-9, (name, domain, split, known, solved)
pd.DataFrame(coverage).T

# %% [markdown]
# What was measured again here equals what was committed. The intervals of the WL settings overlap: their differences
# would need more problems than these. WL against FSF, all variants of the paper, from the committed measurements, the
# published below:

# %%
titles = {f"state-centric {variant}" for variant in sgp.get_method("state-centric").variants}
own = committed[committed.planner.isin(titles)]  # by their default decoding
dates = ", ".join(sorted({note.split(",")[0] for note in own.note}))
sgp.experiments.coverage_table(
    pd.concat([own, printed]), f"Extrapolation, WL and FSF, measured {dates}", ["extrapolation"]
)

# %% [markdown]
# In Blocksworld and VisitAll WL reaches more than FSF in every pair of variants, ours and published; in Logistics
# neither reaches anything to speak of, and in Gripper, with n = 16, the intervals of the delta variants overlap. A slot
# says nothing about objects beyond those of training. But the embedding is not all: with one and the same WL vectors
# one prediction solves nearly all of VisitAll and another a fraction.
#
# ## In the dashboard
#
# A recorded Blocksworld rollout of WL-XGBoost delta that was not solved, at the step where it went wrong:

# %%
recorded = next(
    each
    for each in sgp.recorded_rollouts().rollouts
    if (each.about.domain, each.about.variant, each.head["outcome"]) == ("blocksworld", "wl-xgboost-delta", "horizon")
)
finding = sgp.analysis.failure_of(recorded).primary
print(f"{recorded.head['name']}, step {finding.step} of {len(recorded.steps)}: {finding.kind.value}")
sgp.viz.link(recorded, step=finding.step)

# %% [markdown]
# ## The full result
#
# ```sh
# sgp grid --variants state-centric:wl-xgboost-delta --set wl.iterations=3 --domains
# blocksworld,gripper,logistics,visitall
# sgp grid --variants state-centric:wl-xgboost-delta --set wl.hash=set
# sgp grid --variants state-centric:wl-xgboost-delta --decoding no-statics
# ```
#
# These were not measured in all domains, and their hours are unknown; `FAST = False` runs them. The eight variants of
# the
# paper are measured by `sgp grid --variants state-centric --seeds 13,14,15` (hours: notebook 03).

# %% [markdown]
# ## Exercises
#
# 1. Predict the dimension with k = 0. What distinguishes two states then?
#
#    <details><summary>Solution</summary>
#
#    One entry for each kind of node and edge-free colour: object, and each predicate as true atom, open goal or
#    satisfied goal. Two states differ if the numbers of such atoms differ.
#
#    </details>
#
# 2. Change `hash="set"` in `CONFIGS` to be combined with `iterations=3`. Does the share of unseen colours rise or fall
#    in Gripper?
#
#    <details><summary>Solution</summary>
#
#    It can only be less than with multisets of three rounds, because a set forgets how many balls a room has, which is
#    what is new on larger problems.
#
#    </details>
#
# 3. FSF has a slot for each object up to N. What happens in a problem with more objects?
#
#    <details><summary>Solution</summary>
#
#    It cannot be embedded, and the planner refuses it: this is a property of the representation, no failure of
#    learning.
#
#    </details>
#
# 4. A WL vector ignores colours outside of the vocabulary. When is that harmless?
#
#    <details><summary>Solution</summary>
#
#    When the ignored colours do not change between the candidates of a decision, so that the differences of vectors
#    stay right.
#
#    </details>
#
# ## For a reading group
#
# **Questions for discussion.**
#
# - Which would you rather have: an embedding that merges states, or one whose entries are unseen on larger problems?
# - Why do intervals of the WL settings overlap, and how many problems would separate .20 from .45?
# - GNNs learn the colours that WL fixes. What do they gain, and what do they lose?
#
# **Sixty minutes.** 10 minutes: the card and the plot of Table 1. 15: dimensions and unseen colours. 10: successors
# that look the same. 10: what is solved. 15: exercises 1 and 4. Skip the last table.
