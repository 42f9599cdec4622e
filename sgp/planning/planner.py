"""The only test-time loop: expand, rank, mask what was visited, keep the cheapest, until the goal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from sgp.errors import ConfigurationError, expected_one_of
from sgp.memory import fair_share, give_back
from sgp.planning.beam import Pool, Trail
from sgp.planning.candidates import names
from sgp.planning.clock import Clock, LimitReached, OutOfMemory, OutOfTime
from sgp.planning.pddl import Action, Problem
from sgp.planning.policy import Node, Policy, Ranking, Successors, one_step
from sgp.planning.rollout import Outcome, Rollout, Step, Written
from sgp.planning.task import Successor, Task
from sgp.workers import at_work

HORIZON_BASE = 100  # state-centric, appendix G.4: T_base
HORIZON_PER_OBJECT = 10  # state-centric, appendix G.4: c


Keep = Literal["auto", "steps", "plan"]
"""What a rollout keeps of its steps: all candidates, the chosen ones alone, or all up to MOST_KEPT."""

MOST_KEPT = 200_000  # candidates of a rollout: 40 MB of arrays, or 1 GB where each is a state


def horizon(size: int) -> int:
    """Most actions of a plan for a problem of `size` objects (state-centric, appendix G.4)."""
    return max(HORIZON_BASE, HORIZON_PER_OBJECT * size)


@dataclass(frozen=True)
class Limit:
    """When to give up: on actions, decisions, seconds per problem, bytes of this process's memory.

    Where neither actions nor decisions nor seconds are given, a plan may have as many actions as `horizon` says. A
    decision is one choice; a jump takes several actions by one. Seconds and memory end a decision, too, and reading
    the problem is part of its seconds, which pass on the wall, or with `processor` only while this process computes, so
    that what else the machine does changes no outcome. Without a limit on memory a process takes its share of what the
    machine has free (`sgp.memory`).

    Raises ConfigurationError for one that is not positive, and for `processor` without seconds.
    """

    actions: int | None = None
    seconds: float | None = None
    memory: int | None = None
    decisions: int | None = None
    processor: bool = False

    def __post_init__(self) -> None:
        for name in ("actions", "seconds", "memory", "decisions"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigurationError(f"limit on {name} is {value}; expected a positive number or none")

        if self.processor and self.seconds is None:
            raise ConfigurationError("the limit is one of the processor, and on no seconds; expected seconds beside it")

    @property
    def ends(self) -> bool:
        """Whether decisions or seconds end every rollout, however many actions it may have."""
        return self.decisions is not None or self.seconds is not None

    def now(self) -> float:
        """The seconds of its clock, of which differences mean something."""
        return time.process_time() if self.processor else time.perf_counter()

    def horizon(self, size: int) -> float:
        """Most actions of a plan for a problem of `size` objects; infinite where something else ends a rollout."""
        if self.actions is not None:
            return self.actions
        return math.inf if self.ends else horizon(size)


NO_LIMIT = Limit()
ENDINGS: Mapping[type[BaseException], Outcome] = {
    OutOfTime: Outcome.TIMEOUT,
    OutOfMemory: Outcome.MEMORY,
    MemoryError: Outcome.MEMORY,
}
"""How a problem ends whose work was given up."""
Watch = Callable[[Node, Callable[[], tuple[Step, ...]]], None]


def check_keep(keep: str) -> None:
    """Raises ConfigurationError for an unknown word of what a rollout keeps."""
    if keep not in get_args(Keep):
        raise ConfigurationError(f"keep is '{keep}'; {expected_one_of(get_args(Keep), keep)}")


@dataclass(frozen=True)
class Planner:
    """A policy, its candidates and a beam, pruned by width and by margin.

    At each decision all candidates of the beam's nodes are pooled. States that were in the beam before are masked
    (one visited set for the whole beam, the initial state in it); of several candidates with one key the cheapest,
    or first among tied, stays. Costs within the policy's tolerance are tied and go to the first: nodes in the beam's
    order, candidates in the order of the PDDL. The first goal state generated that the policy does not reject ends the
    search, unless its rules ask that only what it chose counts.
    What its rollouts keep changes no choice. Raises ConfigurationError for a width, margin or batch out of range, and
    for an unknown word of what to keep.
    """

    policy: Policy
    successors: Successors = one_step
    width: int = 1
    margin: float = math.inf  # nodes that cost so much more than the cheapest leave the beam
    batch: int = 64  # problems that advance together, so that the model is called on many rows
    revisits: bool = False  # visited states stay open: for measuring what masking them is worth
    keep: Keep = "auto"
    shuns_dead_ends: bool = False  # those that the delete relaxation tells are not chosen

    def __post_init__(self) -> None:
        for name in ("width", "batch"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"planner's {name} is {getattr(self, name)}; expected at least 1")
        check_keep(self.keep)
        if not self.margin >= 0:
            raise ConfigurationError(f"planner's margin is {self.margin}; expected at least 0")

    def share(self, limit: Limit) -> float:
        """Which part the first rollout of a problem may take of what its first decision leaves of a limit."""
        return 1.0

    def solve(self, task: Task, limit: Limit = NO_LIMIT) -> Rollout:
        """One rollout of one problem."""
        return self.solve_many([task], limit)[0]

    def solve_many(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> list[Rollout]:
        """Rollouts in the order of the tasks, which advance in lockstep, `batch` at a time."""
        rollouts = dict(self.solve_each(tasks, limit))
        return [rollouts[place] for place in sorted(rollouts)]

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Each task's place and rollout as it ends, so that neither has to be kept; tasks are taken when needed.

        Which tasks share a batch changes no rollout.
        """
        waiting = enumerate(tasks)
        active: list[_Search] = []
        with clock_of(limit) as clock:
            while True:
                for place, task in islice(waiting, self.batch - len(active)):
                    active.append(_Search(place, task, limit, self.share(limit)))
                    active[-1].begin(self.policy)
                if not active:
                    return
                self._advance([search for search in active if search.outcome is None], clock)
                ended = [search for search in active if search.outcome is not None]
                active = [search for search in active if search.outcome is None]
                short = any(search.outcome is Outcome.MEMORY for search in ended)
                while ended:
                    search = ended.pop(0)
                    yield search.place, search.rollout()
                    del search
                if short:
                    give_back()

    def resume(
        self,
        task: Task,
        jumps: Sequence[Sequence[Action]],
        limit: Limit = NO_LIMIT,
        watch: Watch | None = None,
    ) -> Rollout:
        """The rollout that goes on after given jumps, the actions of one candidate each, from the initial state.

        Each given jump is a step whose sole candidate is forced: it is taken whatever its cost, and the policy ranks it
        alone, so that what it remembers along a path is what it would be. The states after the jumps are visited.
        `watch` hears of the best node after every decision, and can ask for the steps that led to it. Raises PlanError
        for a jump that is not applicable.
        """
        search = _Search(0, task, limit)
        search.begin(self.policy)
        search.follow(jumps, self.policy)
        with clock_of(limit) as clock:
            while search.outcome is None:
                self._advance([search], clock)
                if watch is not None:
                    watch(search.beam[0].node, search.beam[0].steps)
        return search.rollout()

    def _advance(self, searches: Sequence[_Search], clock: Clock) -> None:
        """One decision of every search, the policy called once for all; of those that reach a limit it is the last.

        Where memory is short, the others make theirs once the ended search is gone.
        """
        for search in searches:
            search.expand(self.successors, clock)
            if search.outcome is Outcome.MEMORY:
                return
        asked = [search for search in searches if search.outcome is None]
        while asked:
            rankings = self._rank(asked, clock)
            if rankings is not None:
                for search in asked:
                    count = len(search.nodes)
                    search.choose(rankings[:count], self, clock)
                    rankings = rankings[count:]
                return
            if any(search.outcome is Outcome.MEMORY for search in asked):
                return
            asked = [search for search in asked if search.outcome is None]

    def _rank(self, searches: Sequence[_Search], clock: Clock) -> list[Ranking] | None:
        """The rankings of all searches' nodes; None where a limit ended one of the searches.

        Each pays for its candidates, so that the one is out of time first that has most of them for its seconds.
        """
        nodes = [node for search in searches for node in search.nodes]
        choices = [choice for search in searches for choice in search.choices]
        total = max(sum(map(len, choices)), 1)
        shares = [sum(map(len, search.choices)) / total for search in searches]
        lasting = [search.left / share if share else math.inf for search, share in zip(searches, shares, strict=True)]
        started = clock.now()
        try:
            with clock.within(min(lasting)):
                return self.policy.rank(nodes, choices) if nodes else []
        except (LimitReached, MemoryError) as error:
            of = lasting.index(min(lasting)) if isinstance(error, OutOfTime) else shares.index(max(shares))
            searches[of].end(error)
            return None
        finally:
            seconds = clock.now() - started
            for search, share in zip(searches, shares, strict=True):
                search.seconds += seconds * share


class _Search:
    """One problem on its way.

    It may take a share of a limit on decisions, and of the seconds that are left once its first candidates are there:
    until then the problem is read, and its actions are instantiated.
    """

    def __init__(self, place: int, task: Task, limit: Limit, share: float = 1.0):
        self.place, self.task, self.limit, self.horizon = place, task, limit, limit.horizon(task.size)
        self.share, self.prepared = share, math.inf  # when the first candidates were there
        self.most = None if limit.decisions is None else max(1, int(share * limit.decisions))
        self.seconds = 0.0
        self.decisions = 0
        self.met = 0  # candidates of all decisions
        self.outcome: Outcome | None = None
        self.reason = ""
        self.written: Written = ()
        self.beam = [Trail(Node(task, task.init))]
        self.visited = set(names(task, task.init))
        self.paths: list[Trail] = []  # the beam's paths that have candidates, with `nodes` and `choices` beside
        self.nodes: list[Node] = []
        self.choices: list[Sequence[Successor]] = []

    @property
    def left(self) -> float:
        """The seconds that it may still take; reading the problem took some."""
        if self.limit.seconds is None:
            return math.inf
        prepared = min(self.prepared, self.limit.seconds)
        return prepared + self.share * (self.limit.seconds - prepared) - self.task.seconds - self.seconds

    def end(self, error: BaseException) -> None:
        """Ends it with the best path so far."""
        self.outcome, self.reason = ENDINGS[type(error)], str(error)
        self.paths, self.nodes, self.choices = [], [], []

    def begin(self, policy: Policy) -> None:
        if self.task.is_goal(self.task.init):
            self.outcome = Outcome.SOLVED
            return
        refusal = policy.refuses(self.task)
        if refusal is not None:
            self.outcome, self.reason = Outcome.REFUSED, refusal

    def follow(self, jumps: Sequence[Sequence[Action]], policy: Policy) -> None:
        """Takes the jumps, one decision each, up to where the search ends."""
        for jump in jumps:
            if self.outcome is not None:
                return
            (path,) = self.beam
            state = path.node.state
            for action in jump:
                state = self.task.apply(state, action)
            choice = [Successor(tuple(jump), state)]
            pool = Pool([path], [choice], policy.rank([path.node], [choice]), policy.rules)
            pool.force(0)
            self.beam = [pool.child(0)]
            self.visited.update(names(self.task, state))
            if self.task.is_goal(state):
                self.outcome = Outcome.SOLVED
            elif self.beam[0].node.length >= self.horizon:
                self.outcome = Outcome.HORIZON
            self._count()

    def expand(self, successors: Successors, clock: Clock) -> None:
        """Finds the candidates, or ends the search where that reaches a limit."""
        started = clock.now()
        try:
            with clock.within(self.left):
                expanded = [(path, successors(self.task, path.node.state)) for path in self.beam]
        except (LimitReached, MemoryError) as error:
            self.end(error)
        else:
            expanded = [(path, choice) for path, choice in expanded if choice]
            self.paths = [path for path, _ in expanded]
            self.nodes = [path.node for path in self.paths]
            self.choices = [choice for _, choice in expanded]
        self.seconds += clock.now() - started
        self.prepared = min(self.prepared, self.task.seconds + self.seconds)

    def choose(self, rankings: Sequence[Ranking], planner: Planner, clock: Clock) -> None:
        """Ends the search or makes the next beam from the ranked candidates."""
        started = clock.now()
        if not self.nodes:
            self.outcome = Outcome.STUCK
        else:
            try:
                with clock.within(self.left):
                    self._choose(rankings, planner)
            except (LimitReached, MemoryError) as error:
                if self.outcome is None:
                    self.end(error)
            self._count()
            self.met += sum(map(len, self.choices))
            if planner.keep == "plan" or (planner.keep == "auto" and self.met > MOST_KEPT):
                for path in self.beam:
                    path.forget_others()
        self.seconds += clock.now() - started

    def _count(self) -> None:
        """Counts a decision, and ends a search that has made all that it may."""
        self.decisions += 1
        if self.outcome is None and self.decisions == self.most:
            self.outcome, self.reason = Outcome.HORIZON, f"the limit of {self.decisions} decisions is reached"

    def _choose(self, rankings: Sequence[Ranking], planner: Planner) -> None:
        rules = planner.policy.rules
        pool = Pool(self.paths, self.choices, rankings, rules)
        unvisited, within = pool.close(set() if planner.revisits else self.visited, self.horizon)
        goal = None if rules.only_chosen else pool.find_goal(self.task)
        hopeless = self.task.is_hopeless if planner.shuns_dead_ends else None
        kept = [] if goal is not None else pool.cheapest(planner.width, planner.margin, hopeless)
        if rules.only_chosen:
            goal = pool.find_goal(self.task, kept)
        if goal is not None:
            self.beam = [pool.child(goal)]
            self.outcome = Outcome.SOLVED
            return
        if not kept:
            told = [ranking for ranking in rankings if ranking.reason]
            self.written = next((each.written for each in told or rankings if each.written), ())
            if told:
                self.outcome, self.reason = Outcome.REFUSED, "; ".join(dict.fromkeys(each.reason for each in told))
            elif not unvisited:
                self.outcome = Outcome.STUCK
            elif not within:
                self.outcome = Outcome.HORIZON
            elif pool.hopeless:
                self.outcome, self.reason = Outcome.STUCK, "from every candidate the goal is out of reach for ever"
            else:
                self.outcome, self.reason = Outcome.REFUSED, "the policy rejects every unvisited candidate"
            return
        beam = [pool.child(place) for place in kept]
        self.visited.update(pool.states[place] for place in kept)
        self.beam = [path for path in beam if path.node.length < self.horizon]
        if not self.beam:
            self.beam, self.outcome = beam[:1], Outcome.HORIZON

    def rollout(self) -> Rollout:
        assert self.outcome is not None
        return Rollout(self.task, self.beam[0].steps(), self.outcome, self.seconds, self.reason, self.written)


def read_task(problem: Problem, limit: Limit = NO_LIMIT) -> Task:
    """A problem alive, read within a limit. Raises LimitReached or MemoryError where that does not do (`ENDINGS`)."""
    with clock_of(limit) as clock, clock.within(limit.seconds or math.inf):
        return Task(problem)


def clock_of(limit: Limit) -> Clock:
    """A clock for work within a limit, started by `with`."""
    return Clock(limit.memory or fair_share(at_work()), limit.now)
