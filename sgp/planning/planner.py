"""The only test-time loop: expand, rank, mask visited states, select the cheapest, until the goal."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sgp.errors import ConfigurationError, InputError, check_fields, expected_one_of
from sgp.planning.beam import Pool
from sgp.planning.clock import Clock, LimitReached, OutOfTime, fair_share, give_back, with_limit_checks
from sgp.planning.pddl import Action, Problem
from sgp.planning.policy import Node, Policy, Ranking, Successors, one_of_each, one_step
from sgp.planning.recurrence import Recurrence
from sgp.planning.rollout import BeamNode, Outcome, Rollout, Written
from sgp.planning.states import State
from sgp.planning.task import Candidates, Successor, Task, count_open_goals
from sgp.workers import worker_count

if TYPE_CHECKING:
    from sgp.planning.episode import Episode

HORIZON_BASE = 100  # state-centric, appendix G.4: T_base
HORIZON_PER_OBJECT = 10  # state-centric, appendix G.4: c


Keep = Literal["auto", "steps", "plan"]
"""What a rollout stores of its steps. "steps": all candidates; "plan": only the chosen ones; "auto": all, until the
rollout exceeds MOST_SAVED."""

RECENT = 0.1  # share of a search's decisions within which progress is recent
MOST_SAVED = 200_000  # candidates of a rollout: 40 MB as arrays, 1 GB as states


def horizon(size: int) -> int:
    """Return the maximum plan length for a problem of `size` objects (state-centric, appendix G.4)."""
    return max(HORIZON_BASE, HORIZON_PER_OBJECT * size)


@dataclass(frozen=True)
class Limit:
    """Limits on actions, decisions, seconds per problem, and bytes of this process's memory.

    Without limits on actions, decisions and seconds, the limit on actions is `horizon`. A decision is one choice; a
    jump takes several actions in one decision. Seconds and memory also interrupt a decision. Seconds include reading
    the problem. They are wall-clock time, or CPU time of this process with `processor`, so that other load on the
    machine changes no outcome. The default memory limit is the process's share of free memory (`fair_share`).
    """

    actions: int | None = None
    seconds: float | None = None
    memory: int | None = None
    decisions: int | None = None
    processor: bool = False

    def __post_init__(self) -> None:
        for name in ("actions", "seconds", "memory", "decisions"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 < value < math.inf):
                raise ConfigurationError(f"limit on {name} is {value!r}; expected a positive number or none")
        if self.processor and self.seconds is None:
            raise ConfigurationError("the limit counts CPU time but gives no seconds; expected seconds as well")

    @property
    def ends(self) -> bool:
        """Whether decisions or seconds end every rollout, whatever its number of actions."""
        return self.decisions is not None or self.seconds is not None

    def now(self) -> float:
        """Return the seconds of the limit's clock; only differences are meaningful."""
        return time.process_time() if self.processor else time.perf_counter()

    def horizon(self, size: int) -> float:
        """Return the maximum plan length for `size` objects; infinite if another limit ends a rollout."""
        if self.actions is not None:
            return self.actions
        return math.inf if self.ends else horizon(size)


NO_LIMIT = Limit()
_RECURRING = "the decisions before: repeated with the next interchangeable objects"
_INDEPENDENT = "the decision before: independent of its choice, at a similar cost"


def outcome_of(error: LimitReached | MemoryError) -> Outcome:
    """Return the outcome of a problem that an error ended: TIMEOUT or MEMORY."""
    return Outcome.TIMEOUT if isinstance(error, OutOfTime) else Outcome.MEMORY


Watch = Callable[[Node], None]


class Share(NamedTuple):
    """The first rollout's shares of the limits on seconds and decisions."""

    seconds: float = 1.0
    decisions: float = 1.0


WHOLE = Share()


@dataclass
class Budget:
    """The shared limit of all rollouts of one problem, and their consumption."""

    task: Task
    limit: Limit
    whole: Limit  # before fallbacks such as LAMA reserve their share
    seconds: float = 0.0
    decisions: int = 0

    def spend(self, rollout: Rollout) -> Rollout:
        """Count a rollout."""
        self.seconds += rollout.seconds
        self.decisions += rollout.decisions
        return rollout

    def left(self) -> Limit | None:
        """The remaining limit for another rollout; None if exhausted."""
        seconds, decisions = self.limit.seconds, self.limit.decisions
        spent = self.task.seconds + self.seconds  # each rollout counts the reading of the problem
        if spent >= (seconds or math.inf) or self.decisions >= (decisions or math.inf):
            return None
        return replace(
            self.limit, seconds=seconds and seconds - self.seconds, decisions=decisions and decisions - self.decisions
        )

    def solved(self, rollout: Rollout, how: str) -> Rollout:
        """Return a rollout that solved the problem, with the seconds and decisions of all rollouts."""
        return replace(rollout, seconds=self.seconds, decisions=self.decisions, reason=f"solved {how}")

    def ended(self, first: Rollout) -> Rollout:
        """Return the first of several failed rollouts, with the seconds and decisions of all."""
        limit = self.limit
        at_limit = first.outcome is Outcome.HORIZON and limit.decisions is not None and limit.actions is None
        reason = f"the limit of {limit.decisions} decisions is reached" if at_limit else first.reason
        return replace(first, seconds=self.seconds, decisions=self.decisions, reason=reason)


class Fallback(ABC):
    """A strategy for problems that a rollout did not solve."""

    @property
    def first_share(self) -> float:
        """The first rollout's share of a limit on seconds or decisions."""
        return 1.0

    def limit(self, limit: Limit) -> Limit:
        """Return the limit of all rollouts together, memory included."""
        return limit

    @abstractmethod
    def retry(self, planner: Planner, failed: Rollout, budget: Budget) -> Rollout:
        """Return a rollout that solves the problem, or the failed one with the seconds of all."""


def check_keep(keep: str) -> None:
    """Raise ConfigurationError for an unknown value of `keep`."""
    if keep not in get_args(Keep):
        raise ConfigurationError(f"keep is '{keep}'; {expected_one_of(get_args(Keep), keep)}")


@dataclass(frozen=True, repr=False)
class Planner:
    """A policy, a successor function, and a beam pruned by width and margin.

    Each decision pools all candidates of the beam's nodes. States that were in the beam before are masked; the whole
    beam shares one visited set, which includes the initial state. Of candidates with equal `Ranking.keys` (equal
    embeddings) the cheapest remains, the first of them on a tie. Costs within the policy's tolerance are tied and
    resolved by order: nodes in beam order, candidates in PDDL order.

    Search stops at the first generated goal state of finite cost (early goal test), unless the policy's rules count
    only chosen goal states. The data saved in rollouts change no choice. `fallbacks` run in turn on unsolved problems
    within one limit; if none solves a problem, the first rollout is returned.

    With `parallel`, a decision of a beam of one node also takes the candidates that cost at most so much more than the
    chosen one and are independent of it and of each other, as in a parallel plan (Blum and Furst 1997). They are steps
    of their own, each with one candidate. Plans become longer, so only rollouts do so that have ranked `parallel_after`
    candidates.

    With `recurring`, decisions of a beam of one node over one-step successors that recur are repeated as one jump, if
    the policy's costs do not change with the sizes of large classes of interchangeable objects; see `Recurrence`.
    """

    policy: Policy
    successors: Successors = one_step
    width: int = 1
    margin: float = math.inf  # nodes that cost more than the cheapest plus `margin` leave the beam
    batch: int = 64  # problems that advance together, for larger model batches
    revisits: bool = False  # visited states remain open, to measure the effect of masking
    keep: Keep = "auto"
    prune_dead_ends: bool = False  # those that `Task.is_dead_end` recognises
    parallel: float = 0.0  # cost of independent candidates above the chosen one's; 0: only one candidate is taken
    parallel_after: int = 0  # candidates that a rollout has ranked before it takes several
    recurring: bool = True
    fallbacks: tuple[Fallback, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, "planner's", width=1, batch=1, parallel=0, parallel_after=0)
        if not self.margin >= 0:
            raise ConfigurationError(f"planner's margin is {self.margin}; expected at least 0")

    def __repr__(self) -> str:
        """Return the policy's type and the search's settings, without weights."""
        policy, successors = (getattr(part, "__name__", type(part).__name__) for part in (self.policy, self.successors))
        fallbacks = [type(fallback).__name__ for fallback in self.fallbacks]
        return f"<Planner: {policy} over {successors}, width {self.width}, margin {self.margin}, fallbacks {fallbacks}>"

    def start(self, problem: Problem | Task) -> Episode:
        """Begin an episode, which plans decision by decision; see `Episode`."""
        from sgp.planning.episode import Episode

        return Episode(self, problem if isinstance(problem, Task) else Task(problem))

    def embed(self, task: Task, states: Sequence[State]) -> NDArray[np.floating[Any]]:
        """Return the policy's embeddings [n, D] of states; raise InputError for a policy that embeds no states."""
        embed = getattr(self.policy, "embed", None)
        if embed is None:
            raise InputError(f"{type(self.policy).__name__} embeds no states; expected a planner of state-centric")
        embeddings: NDArray[np.floating[Any]] = np.asarray(embed(task, states))
        return embeddings

    def solve(self, problem: Problem | Task, limit: Limit = NO_LIMIT) -> Rollout:
        """Return a rollout of one problem."""
        return self.solve_many([problem if isinstance(problem, Task) else Task(problem)], limit)[0]

    def solve_many(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> list[Rollout]:
        """Return rollouts in the order of the tasks, which advance in lockstep, `batch` at a time."""
        return [rollout for _, rollout in sorted(self.solve_each(tasks, limit), key=itemgetter(0))]

    def solve_each(self, tasks: Iterable[Task], limit: Limit = NO_LIMIT) -> Iterator[tuple[int, Rollout]]:
        """Yield the index and rollout of each task as it ends; the composition of batches changes no rollout."""
        if not self.fallbacks:
            yield from self.roll_out(tasks, limit)
            return
        whole = limit = replace(limit, memory=limit.memory or fair_share(worker_count()))  # one share for all rollouts
        for fallback in self.fallbacks:
            limit = fallback.limit(limit)
        first_share = min(fallback.first_share for fallback in self.fallbacks) if limit.ends else 1.0
        share = Share(first_share, first_share)
        if limit.seconds and whole.seconds:  # the first rollout may use all of them while it progresses
            share = share._replace(seconds=first_share * limit.seconds / whole.seconds)
        for place, first in self.roll_out(tasks, replace(limit, seconds=whole.seconds), share):
            rollout, budget = first, Budget(first.task, limit, whole)
            budget.spend(first)
            for fallback in self.fallbacks:
                if not rollout.solved:
                    rollout = fallback.retry(self, first, budget)
            yield place, rollout

    def recurrence(self, task: Task) -> Recurrence | None:
        """Return what finds recurring decisions of a search; None where decisions depend on the sizes of all classes.

        Tasks whose actions are all instantiated are small: they have none either.
        """
        class_size = getattr(self.policy, "class_size", None)
        alike = self.width == 1 and not self.revisits and self.successors in (one_step, one_of_each)
        if not (self.recurring and alike and class_size is not None and task.mode == "lifted"):
            return None
        return Recurrence(task, class_size)

    def roll_out(
        self, tasks: Iterable[Task], limit: Limit = NO_LIMIT, share: Share = WHOLE
    ) -> Iterator[tuple[int, Rollout]]:
        """Run as `solve_each`, without fallbacks. `share` applies to what remains of a limit at the first decision."""
        waiting = enumerate(tasks)
        active: list[Search] = []
        with clock_of(limit) as clock:
            while True:
                for place, task in islice(waiting, self.batch - len(active)):
                    active.append(Search(place, task, limit, self.policy, share))
                if not active:
                    return
                self.advance([search for search in active if search.outcome is None], clock)
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
        self, task: Task, jumps: Sequence[Sequence[Action]], limit: Limit = NO_LIMIT, watch: Watch | None = None
    ) -> Rollout:
        """Resume from given jumps, each the actions of one candidate, from the initial state.

        Each given jump is a step whose only candidate is forced at any cost. The policy ranks this candidate alone, so
        that its memories along the path are correct. The states after the jumps are visited. `watch` receives the best
        node after every decision. Raises PlanError for a jump that is not applicable.
        """
        search = Search(0, task, limit, self.policy)
        for jump in jumps:
            if search.outcome is not None:
                break
            (node,) = search.beam
            state = node.state
            for action in jump:
                state = task.apply(state, action)
            choice = Candidates.of(task, node.state, [Successor(tuple(jump), state)])
            search.take(Pool([node], [choice], self.policy.rank([node], [choice]), self.policy.rules), 0)
        with clock_of(limit) as clock:
            while search.outcome is None:
                self.advance([search], clock)
                if watch is not None:
                    watch(search.beam[0])
        return search.rollout()

    def advance(self, searches: Sequence[Search], clock: Clock) -> None:
        """Make one decision of every search, with one call of the policy.

        Searches that reach a limit end. If memory is short, the other searches decide after the ended search is freed.
        """
        for search in searches:
            search.expand(self.successors, clock)
            if search.outcome is Outcome.MEMORY:
                return
        ranked = [search for search in searches if search.outcome is None]
        while ranked:
            rankings = self._rank(ranked, clock)
            if rankings is not None:
                for search in ranked:
                    count = len(search.nodes)
                    search.choose(rankings[:count], self, clock)
                    rankings = rankings[count:]
                return
            if any(search.outcome is Outcome.MEMORY for search in ranked):
                return
            ranked = [search for search in ranked if search.outcome is None]

    def _rank(self, searches: Sequence[Search], clock: Clock) -> list[Ranking] | None:
        """Rank the nodes of all searches; None if a limit ended one of them.

        The time of the shared call is divided in proportion to candidates: the first search out of time has the most
        candidates for its remaining seconds.
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


class Search:
    """The state of one problem's search, which ends where the goal holds at the start or the policy refuses the task.

    `share` applies to a limit on decisions, and to the seconds that remain after the first candidates: until then the
    problem is read and its actions are instantiated. While the number of open goals falls, the search goes on beyond
    its share, because another one would not be at the goal earlier.
    """

    def __init__(self, place: int, task: Task, limit: Limit, policy: Policy, share: Share = WHOLE):
        self.place, self.task, self.limit, self.horizon = place, task, limit, limit.horizon(task.size)
        self._share, self.prepared = share, math.inf  # time of the first candidates
        self.seconds = 0.0
        self.decisions = 0
        self.fewest, self.progressed = math.inf, 0  # open goals, and the number of decisions when they became so few
        self.candidates = 0  # candidates of all decisions
        self.outcome: Outcome | None = Outcome.SOLVED if task.is_goal(task.init) else None
        self.reason = ""
        if self.outcome is None and (refusal := policy.refuses(task)) is not None:
            self.outcome, self.reason = Outcome.REFUSED, refusal
        self.was_cut = False  # whether an unvisited candidate was beyond the horizon
        self.written: Written = ()
        self.beam = [Node(task, task.init)]
        self.visited: set[Hashable] = {task.init.key}
        self.nodes: list[Node] = []  # those of the beam with candidates
        self.choices: list[Candidates] = []
        self.pool: Pool | None = None  # of the last decision
        self._recurrence: Recurrence | None = None

    @property
    def share(self) -> Share:
        """The shares of the limits that the search may use now."""
        lately = self.progressed > 0 and self.decisions - self.progressed <= RECENT * self.decisions
        return WHOLE if lately else self._share

    @property
    def left(self) -> float:
        """The remaining seconds, reading the problem included."""
        if self.limit.seconds is None:
            return math.inf
        prepared = min(self.prepared, self.limit.seconds)
        return prepared + self.share.seconds * (self.limit.seconds - prepared) - self.task.seconds - self.seconds

    def end(self, error: LimitReached | MemoryError) -> None:
        """End the search with the best path so far."""
        self.outcome, self.reason = outcome_of(error), str(error)
        if self.outcome is Outcome.TIMEOUT and not self.reason:
            kind = "CPU time" if self.limit.processor else "time"
            self.reason = f"the limit on {kind} is reached; give a higher one, or try another decoding"
        self.nodes, self.choices = [], []

    def take(self, pool: Pool, place: int) -> None:
        """Take a candidate at any cost; the beam has this node alone."""
        pool.force(place)
        self.beam = [pool.child(place)]
        state = self.beam[0].state
        self.visited.add(state.key)
        if self.task.is_goal(state):
            self.outcome = Outcome.SOLVED
        elif self.beam[0].length >= self.horizon:
            self.outcome = Outcome.HORIZON
        self._count()

    def expand(self, successors: Successors, clock: Clock) -> None:
        """Find the candidates, or end the search at a limit."""
        started = clock.now()
        try:
            with clock.within(self.left):
                task, states = self.task, [node.state for node in self.beam]
                choices = [Candidates.of(task, state, successors(task, state)) for state in states]
        except (LimitReached, MemoryError) as error:
            self.end(error)
        else:
            self.nodes = list(compress(self.beam, choices))
            self.choices = list(filter(None, choices))
        self.seconds += clock.now() - started
        self.prepared = min(self.prepared, self.task.seconds + self.seconds)

    def choose(self, rankings: Sequence[Ranking], planner: Planner, clock: Clock) -> None:
        """End the search, or select the next beam from the ranked candidates."""
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
            self.candidates += sum(map(len, self.choices))
            if planner.keep == "plan" or (planner.keep == "auto" and self.candidates > MOST_SAVED):
                for node in self.beam:
                    node.drop_other_candidates()
        self.seconds += clock.now() - started

    def _count(self) -> None:
        """Count a decision, and end the search at the limit of decisions."""
        self.decisions += 1
        if self.outcome is None and self._share != WHOLE:
            missing = count_open_goals(self.task, self.beam[0].state)
            if missing < self.fewest:
                self.fewest, self.progressed = missing, self.decisions
        most = self.limit.decisions
        if self.outcome is None and most is not None and self.decisions >= max(1, int(self.share.decisions * most)):
            self.outcome, self.reason = Outcome.HORIZON, f"the limit of {self.decisions} decisions is reached"

    def _choose(self, rankings: Sequence[Ranking], planner: Planner) -> None:
        rules = planner.policy.rules
        self.pool = pool = Pool(self.nodes, self.choices, rankings, rules)
        unvisited, within_horizon = pool.close(set() if planner.revisits else self.visited, self.horizon)
        self.was_cut = self.was_cut or within_horizon < unvisited
        goal = None if rules.only_chosen else pool.find_goal()
        dead_end = self.task.is_dead_end if planner.prune_dead_ends else None
        chosen = [] if goal is not None else pool.cheapest(planner.width, planner.margin, dead_end)
        if rules.only_chosen:
            goal = pool.find_goal(chosen)
        if goal is not None:
            self._keep([pool.child(goal)], planner.width)
            self.outcome = Outcome.SOLVED
            return
        if not chosen:
            refusing = [ranking for ranking in rankings if ranking.reason]
            self.written = next((ranking.written for ranking in refusing or rankings if ranking.written), ())
            if refusing:
                reasons = dict.fromkeys(ranking.reason for ranking in refusing)
                self.outcome, self.reason = Outcome.REFUSED, "; ".join(reasons)
            elif not unvisited:
                self.outcome = Outcome.STUCK
            elif within_horizon < unvisited:
                self.outcome = Outcome.HORIZON
            elif pool.dead_ends:
                self.outcome, self.reason = Outcome.STUCK, "every candidate is a dead end"
            else:
                self.outcome, self.reason = Outcome.REFUSED, "the policy rejects every unvisited candidate"
            return
        beam = [pool.child(place) for place in chosen]
        self.visited.update(pool.states[place] for place in chosen)
        if planner.parallel and planner.width == 1 and self.candidates >= planner.parallel_after:
            beam = [self._with_independent(pool, chosen[0], beam[0], planner, dead_end)]
        if self.decisions == 0:
            self._recurrence = planner.recurrence(self.task)
        if self._recurrence is not None and self.outcome is None:
            beam = [self._with_repetition(beam[0], self._recurrence, planner)]
        if self.outcome is Outcome.SOLVED:
            self.beam = beam
            return
        within = [node for node in beam if node.length < self.horizon]
        self._keep(within or beam[:1], planner.width)
        if not within:
            self.outcome = Outcome.HORIZON

    def _with_independent(
        self, pool: Pool, chosen: int, node: Node, planner: Planner, is_dead_end: Callable[[State], bool] | None
    ) -> Node:
        """Return the node after `node`, the chosen one, and the candidates that are independent of it, or the goal.

        The cheapest come first. A candidate is independent if none of its actions has a precondition or an effect on an
        atom that the candidates before it changed. So it remains applicable, with the same changes.
        """
        (choice,), (ranking,), task = pool.choices, pool.rankings, self.task
        changed = set(map(task.fluent, choice.change(chosen).tolist()))
        for place in with_limit_checks(pool.within(pool.costs[chosen] + planner.parallel)):
            change = choice.change(place)
            if not changed.isdisjoint(map(task.fluent, change.tolist())):
                continue
            actions = choice[place].actions
            if not all(changed.isdisjoint(task.atoms_of(action)) for action in actions):
                continue
            successor = Successor(actions, task.changed(node.state, change))
            if successor.state.key in self.visited or node.length + len(actions) > self.horizon:
                continue
            after = self._after(node, successor, ranking.costs[place : place + 1], _INDEPENDENT, planner, is_dead_end)
            if after is None:
                continue
            node = after
            changed.update(map(task.fluent, change.tolist()))
            if self.outcome is Outcome.SOLVED:
                break
        return node

    def _with_repetition(self, node: Node, recurrence: Recurrence, planner: Planner) -> Node:
        """Return the node after the decisions that recur from `node` on, or the goal; the node itself if none do."""
        jump = recurrence.repetition(node, self.horizon)
        if jump is None or jump.state.key in self.visited:
            return node
        return self._after(node, jump, np.array([node.cost]), _RECURRING, planner) or node

    def _after(
        self,
        node: Node,
        successor: Successor,
        costs: NDArray[np.float64],
        reason: str,
        planner: Planner,
        is_dead_end: Callable[[State], bool] | None = None,
    ) -> Node | None:
        """Return the node of a step whose only candidate is `successor`; None if the policy's rules reject it."""
        alone = Candidates.of(self.task, node.state, [successor])
        single = Pool([node], [alone], [Ranking(costs, note={"because": [reason]})], planner.policy.rules)
        goal = single.find_goal()
        if goal is None and not single.cheapest(1, math.inf, is_dead_end):
            return None
        if goal is not None:
            self.outcome = Outcome.SOLVED
        self.visited.add(successor.state.key)
        return replace(single.child(0), memory=node.memory)

    def _keep(self, nodes: list[Node], width: int) -> None:
        """Make nodes the new beam; if it may have several, each knows all of them."""
        if width > 1:
            before = {node: place for place, node in enumerate(self.beam)}
            kept = tuple(
                BeamNode(before[node.before], node.arrived.actions, node.cost)
                for node in nodes
                if node.before and node.arrived
            )
            nodes = [replace(node, beam=kept, lane=lane) for lane, node in enumerate(nodes)]
        self.beam = nodes

    def rollout(self) -> Rollout:
        """Return the best path of the ended search."""
        assert self.outcome is not None
        if self.outcome is Outcome.STUCK and self.was_cut:  # a longer path might not have been
            self.outcome, self.reason = Outcome.HORIZON, ""
        if self.outcome is Outcome.HORIZON and not self.reason:
            source = "" if self.limit.actions else f" ({HORIZON_PER_OBJECT} per object, at least {HORIZON_BASE})"
            self.reason = (
                f"the limit of {self.horizon:g} actions{source} is reached; give a higher one, or one on seconds alone"
            )
        steps = self.beam[0].steps()
        return Rollout(self.task, steps, self.outcome, self.seconds, self.reason, self.written, self.decisions)


def read_task(problem: Problem, limit: Limit = NO_LIMIT) -> Task:
    """Read a problem within a limit. Raises LimitReached or MemoryError (`outcome_of`) at the limit."""
    with clock_of(limit) as clock, clock.within(limit.seconds or math.inf):
        return Task(problem)


def clock_of(limit: Limit) -> Clock:
    """Return a clock for work within a limit."""
    return Clock(limit.memory or fair_share(worker_count()), limit.now)
