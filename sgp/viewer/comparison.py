"""Two rollouts of one problem as the data of `compare.js`, and branches of a rollout as those of `branches.js`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from sgp.datasets.recorded import Bounds, Recorded, after, decode_bounds, regrets
from sgp.errors import InputError, StoreError
from sgp.planning.rollout import Outcome
from sgp.viewer.playback import State, expert_states, playback, ranked
from sgp.wording import counted

EXPERT = "expert's plan"  # in place of a method
PLANNING = "planning"  # the outcome of a rollout that is shown while it is planned
_UNKNOWN = (0.0, math.inf)  # bounds on the actions left
_OF_CHOICE = ("why", "measure", "against", "others", "beam", "lane")  # fields of a step that depend on what was chosen


def expert_rollout(recorded: Recorded) -> Recorded | None:
    """The expert's plan of the same problem as a rollout; None if the record has none.

    Each step has the expert's action as its only candidate, without a cost.
    """
    if not recorded.head.get("expert"):
        return None
    try:
        plan = recorded.expert
        text = recorded.domain
        states = expert_states(text, next(recorded.states()), plan)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{recorded.place}: the expert's plan does not fit the domain ({error!r}); record the rollout again"
        ) from error
    steps = []
    for action, (one, next_one) in zip(plan, pairwise(states), strict=True):
        added, deleted = (sorted(map(str, atoms)) for atoms in (next_one - one, one - next_one))
        candidate: dict[str, Any] = {"actions": [str(action)], "parent": None, "add": added, "delete": deleted}
        candidate |= {"cost": None, "key": None, "marks": ["chosen"]}
        steps.append({"record": "step", "chosen": 0, "candidates": [candidate], "note": {}})
    about = {"method": EXPERT, "domain": recorded.about.domain, "split": recorded.about.split}
    head = {name: value for name, value in recorded.head.items() if name != "left"}
    head |= {"outcome": Outcome.SOLVED.value, "reason": "", "seconds": 0.0, "steps": len(steps), "about": about}
    return Recorded(recorded.source, recorded.line, head, tuple(steps))


def comparison(left: Recorded, right: Recorded) -> dict[str, Any]:
    """The data of `compare.js`, as JSON.

    Position i is the state after i actions; within a jump its start is shown. `divergence` is the first position whose
    next actions differ, None if one plan is a prefix of the other; `equal` are the positions at which both sides are in
    the same state; `difference` are sentences on how the sides differ.
    """
    if left.head.get("sha256") != right.head.get("sha256"):
        raise InputError(
            f"{left.head.get('name')} and {right.head.get('name')} are two problems; choose two rollouts of one problem"
        )
    sides = [_side(each) for each in (left, right)]
    plans = list(map(_plan, sides))
    common = next(
        (place for place, (one, two) in enumerate(zip(*plans, strict=False)) if one != two), min(map(len, plans))
    )
    states = [_states(each) for each in (left, right)]
    known: dict[State, Bounds] = {}
    for state, (low, high) in chain(_bounds(left), _bounds(right)):
        least, most = known.get(state, _UNKNOWN)
        known[state] = max(least, low), min(most, high)
    paths = [
        _Path(name, plan, reached, tuple(frame["open"] for frame in side["frames"]), side["outcome"], side["ending"])
        for name, plan, reached, side in zip(("left", "right"), plans, states, sides, strict=True)
    ]
    return {
        "id": sha256(f"{left.place} {left.about} {right.place} {right.about} {common}".encode()).hexdigest()[:16],
        "problem": sides[0]["problem"],
        "domain": sides[0]["domain"],
        "goals": sides[0]["goals"],
        "length": max(map(len, plans)),
        "divergence": common if common < max(map(len, plans)) else None,
        "equal": sorted(place for place, state in states[0].items() if states[1].get(place) == state),
        "difference": _difference(paths, common, known, sides[0]["goals"]),
        "sides": sides,
    }


def _side(recorded: Recorded) -> dict[str, Any]:
    """One side's frames, candidates and map; actions are indices into texts and, if possible, sentences."""
    data = playback(recorded)
    fields = ("rank", "actions", "cost", "gap", "marks", "open", "same_as", "left")
    steps = [
        {
            **{name: step[name] for name in ("chosen", "tie", "unavailable", "best", "greedy", "path") if name in step},
            "candidates": [{name: each[name] for name in fields if name in each} for each in step["candidates"]],
        }
        for step in data["steps"]
    ]
    copied = ("problem", "domain", "model", "planner", "outcome", "ending", "goals", "elements", "goal", "actions")
    frames = [{"picture": frame["picture"], "open": frame["open"]} for frame in data["frames"]]
    words = data["words"]["actions"] if data["words"] else None
    drawn = {"missing": "The expert's plan has no map"} if recorded.about.method == EXPERT else data["map"]
    return {**{name: data[name] for name in copied}, "frames": frames, "steps": steps, "words": words, "map": drawn}


def _plan(side: dict[str, Any]) -> list[str]:
    """The actions that a side takes."""
    chosen = (step["candidates"][step["chosen"]] for step in side["steps"])
    return [side["actions"][action] for candidate in chosen for action in candidate["actions"]]


def _states(recorded: Recorded) -> dict[int, State]:
    """The states at the ends of steps, by number of actions."""
    lengths = [len(step["candidates"][step["chosen"]]["actions"]) for step in recorded.steps]
    return dict(zip(accumulate(lengths, initial=0), recorded.states(), strict=True))


def _bounds(recorded: Recorded) -> Iterator[tuple[State, Bounds]]:
    """The recorded bounds on the actions left, of the states of a rollout and of its candidates."""
    if "left" not in recorded.head:
        return
    states = list(recorded.states())
    yield from zip(states, map(decode_bounds, recorded.head["left"]), strict=True)
    for state, step in zip(states, recorded.steps, strict=False):
        known = (each for each in step["candidates"] if "left" in each)
        yield from ((after(state, each), decode_bounds(each["left"])) for each in known)


class _Path(NamedTuple):
    """A side's actions, its states by number of actions, the open goals in each state, and its end."""

    name: str
    plan: Sequence[str]
    states: Mapping[int, State]
    open_goals: Sequence[int]
    outcome: str
    ending: str

    def choice(self, place: int, known: Mapping[State, Bounds]) -> str:
        """The decision that contains the action at a place, and what it is proved to do to the length of the plan."""
        if place == len(self.plan):
            return f"{self.name} ends"
        start = max(each for each in self.states if each <= place)
        end = min(each for each in self.states if each > place)
        bounds = [known.get(self.states[each], _UNKNOWN) for each in (start, end)]
        (lost,) = regrets(bounds, [end - start])
        jump = "" if end - start == 1 else f" within a jump of {end - start} actions"
        exact = all(low == high for low, high in bounds)
        return f"{self.name} takes {self.plan[place]}{jump}{_loss(lost, exact)}"

    def end(self, known: Mapping[State, Bounds], goals: int) -> str:
        """How the side ends, and what is proved of its decisions."""
        places, bounds = list(self.states), [known.get(state, _UNKNOWN) for state in self.states.values()]
        lost = regrets(bounds, (end - start for start, end in pairwise(places)))
        longer = [place + 1 for place, each in zip(places, lost, strict=False) if each and each < math.inf]
        times = f"{len(longer)} of {counted(len(lost), 'decision')}"
        detours = f"; it wastes actions at {times}, first at action {longer[0]}" if longer else ""
        count = counted(len(self.plan), "action")
        if self.outcome == Outcome.SOLVED:
            return f"{self.name.title()} reaches the goal in {count}{_surplus(len(self.plan), bounds[0])}{detours}"
        dead = next((place for place, (low, _) in zip(places, bounds, strict=True) if low == math.inf), None)
        why = self._progress(goals)
        if dead is not None:
            why = f"after action {dead}, the goal cannot be reached any more" if dead else "no plan exists"
        return f"{self.name.title()} ends unsolved after {count} ({self.ending}): {why}{detours}"

    def _progress(self, goals: int) -> str:
        """The fewest open goals that a decision leaves."""
        first, last, fewest = self.open_goals[0], self.open_goals[-1], min(self.open_goals)
        if fewest == first:
            return f"no decision leaves fewer goals open than the start has ({first} of {goals})"
        best = counted(list(self.states)[self.open_goals.index(fewest)], "action")
        end = f", {last} at the end" if last > fewest else ""
        return f"at best {fewest} of {goals} goals are open (after {best}){end}"


def _surplus(length: int, bounds: Bounds) -> str:
    """The length of a plan beside the proved bounds on the shortest one."""
    low, high = bounds
    if length > high:
        return f", {'' if low == high else 'at least '}{length - high:g} more than needed"
    return ", the fewest possible" if length <= low else ""


def _loss(lost: float | None, exact: bool) -> str:
    """What a decision is proved to do to the length of the plan, in parentheses; "" if nothing is proved."""
    if lost is None:
        return ""
    if lost == math.inf:
        return " (leads into a dead end)"
    if lost == 0:
        return " (on a shortest plan)"
    return f" (wastes {'' if exact else 'at least '}{lost:g} action{'' if lost == 1 else 's'})"


def _difference(paths: Sequence[_Path], common: int, known: Mapping[State, Bounds], goals: int) -> list[str]:
    """Where two plans diverge, and how each side ends: what the records prove, in sentences."""
    if all(len(path.plan) == common for path in paths):
        return ["Both sides take the same actions."]
    choices = "; ".join(path.choice(common, known) for path in paths)
    where = f"After {counted(common, 'action')} in common" if common else "At the start"
    return [f"{where}, {choices}.", *(f"{path.end(known, goals)}." for path in paths)]


class Override(NamedTuple):
    """An action override: the step and the rank of the candidate taken there, both from 1."""

    step: int
    rank: int


class Branch(tuple[Override, ...]):
    """The overrides of a branch in order of their steps; the original rollout has none.

    Written as in an address: `5-2_9-3` takes the candidate of rank 2 at step 5, then that of rank 3 at step 9.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Branch:
        """Parse a branch. Raises InputError."""
        if not text:
            return cls()
        branch = cls()
        if re.fullmatch(r"[1-9]\d{0,4}-[1-9]\d{0,5}(_[1-9]\d{0,4}-[1-9]\d{0,5}){0,30}", text):
            branch = cls(Override(*map(int, part.split("-"))) for part in text.split("_"))
        if not branch or any(one.step >= two.step for one, two in pairwise(branch)):
            raise InputError(
                f"'{text[:40]}' is not a branch; expected increasing steps, each with a rank, such as 5-2_9-3"
            )
        return branch

    def __str__(self) -> str:
        return "_".join(f"{each.step}-{each.rank}" for each in self)

    @property
    def parent(self) -> Branch:
        """The branch without its last override; the original rollout is its own parent."""
        return Branch(self[:-1])

    def then(self, step: int, rank: int) -> Branch:
        """The branch with an override at a step instead of those from that step on."""
        return Branch((*(each for each in self if each.step < step), Override(step, rank)))


def branch_start(records: Sequence[Mapping[str, Any]], step: int, rank: int) -> Recorded:
    """A rollout up to a step, from 1, at which the candidate of a rank is chosen; InputError if there is none.

    `records` are the head and the steps. The outcome is PLANNING.
    """
    head, *steps = records
    require_candidate(steps, step, rank)
    others = {name: value for name, value in head.items() if name != "left"}
    planned = {**others, "outcome": PLANNING, "reason": "", "written": []}
    return Recorded("rollout", 1, planned, (*steps[: step - 1], overridden(steps[step - 1], rank)))


def require_candidate(steps: Sequence[Mapping[str, Any]], step: int, rank: int) -> None:
    """Raise InputError if there is no candidate of a rank at a step."""
    if not 1 <= step <= len(steps) or not 1 <= rank <= len(steps[step - 1]["candidates"]):
        raise InputError(f"the rollout has no candidate of rank {rank} at step {step}; choose one from the table")


def overridden(record: Mapping[str, Any], rank: int) -> dict[str, Any]:
    """A step's record with the candidate of a rank chosen instead, without the explanation of the choice."""
    chosen = ranked(record)[rank - 1]
    candidates = [
        {**each, "marks": [mark for mark in each["marks"] if mark not in ("chosen", "beam")]}
        for each in record["candidates"]
    ]
    candidates[chosen]["marks"] += ["chosen", "forced"]
    others = {name: value for name, value in record.items() if name not in _OF_CHOICE}
    return {**others, "chosen": chosen, "candidates": candidates}


def branch_rows(rollouts: Mapping[Branch, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row of the tree for each branch below its parent, from the player's data of the branches."""
    rows = []
    for branch, data in sorted(rollouts.items(), key=lambda pair: pair[0]):
        row: dict[str, Any] = {"branch": str(branch), "parent": None, "start": 0, "words": "original rollout"}
        if branch:
            step = data["steps"][branch[-1].step - 1]
            actions = [data["actions"][number] for number in step["candidates"][step["chosen"]]["actions"]]
            words = f"step {branch[-1].step}: {' '.join(actions)}"
            row |= {"parent": str(branch.parent), "start": branch[-1].step - 1, "words": words}
        end = {"actions": data["length"], "open": data["frames"][-1]["open"]}
        ended = {name: data[name] for name in ("outcome", "ending")}
        rows.append({**row, **ended, "steps": len(data["steps"]), **end})
    return rows


def override_words(search: Mapping[str, Any]) -> str:
    """The result of a search for the fewest overrides (the job `override`), in sentences."""
    counts = " and ".join(
        ("all " if number in search["complete"] else "")
        + f"{counted(count, 'rollout')} with {counted(number, 'override')}"
        for number, count in enumerate(search["counts"], start=1)
    )
    ordinal = {2: "second", 3: "third"}.get(search["ranks"], f"{search['ranks']}th")
    planned = (
        f"Tried in {search['seconds']:.1f} s: {counts}. An override takes an unvisited candidate of a step, up to the "
        f"{ordinal} best one."
    )
    if search["overrides"] is None:
        over = len(search["complete"]) == search["most"]
        why = f"no {counted(search['most'], 'override')} or fewer solve it" if over else "the time limit was reached"
        return f"No solution found: {why}. {planned}"
    count = len(search["overrides"])
    steps = ", then ".join(f"rank {rank} at step {step}" for step, rank in search["overrides"])
    fewest = "the fewest" if count == 1 or search["proved"] else "perhaps not the fewest"
    return f"Solved with {counted(count, 'override')} added ({fewest} among these candidates): {steps}. {planned}"
