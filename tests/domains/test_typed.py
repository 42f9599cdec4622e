"""Domains of the IPC 2023 learning track: sizes and plans worked out by hand."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sgp.domains import get_domain, maps
from sgp.domains.deliveries import _arrangement
from sgp.errors import ConfigurationError
from sgp.planning.experts import find_plan
from sgp.planning.pddl import Action, Atom, Problem
from sgp.planning.task import Task, replay
from tests.sampling import connected


def task_of(name, seed=0, **arguments):
    domain = get_domain(name)
    return Task(Problem("generated", domain.pddl, domain.generate(np.random.default_rng(seed), **arguments)))


def plan_of(task):
    return find_plan(task.problem).plan


def place_of(task, name, predicate="at"):
    (place,) = [atom.objects[1] for atom in task.text.init if atom.predicate == predicate and atom.objects[0] == name]
    return place


@pytest.mark.parametrize(
    ("name", "size", "solutions"),
    [
        ("ferry", 5, [(1, 4), (2, 3), (3, 2)]),
        ("satellite", 5, [(1, 1, 1, 2)]),
        ("transport", 6, [(1, 1, 2, 1)]),
        ("childsnack", 9, [(1, 1, 2), (1, 2, 1)]),
        ("rovers", 10, [(1, 2, 1, 1)]),
        ("miconic", 4, [(1, 3), (2, 2)]),
        ("spanner", 6, [(1, 1, 1)]),
        ("floortile", 7, [(1, 1, 2), (1, 3, 1)]),
        ("sokoban", 9, [(8, 1)]),
        ("depot", 8, [(1, 1, 1, 2, 2, 1)]),
        ("goldminer", 8, [(2, 4), (4, 2)]),
        ("grid", 8, [(2, 2, 2, 2), (2, 3, 1, 1), (3, 2, 1, 1)]),
        ("visitall", 6, [(1, 6), (2, 3), (3, 2), (6, 1)]),
        ("logistics", 6, [(1, 2, 1, 1)]),
    ],
)
def test_the_size_equation_by_hand(name, size, solutions):
    sizes = get_domain(name).sizes
    names = [argument for argument in sizes.bounds if argument not in sizes.free]
    assert list(sizes.solutions(size)) == [dict(zip(names, values, strict=True)) for values in solutions]


@pytest.mark.parametrize("seed", range(3))
def test_one_car_or_passenger_is_fetched_and_carried(seed):
    for name, sizes, moved, start, vehicle in (
        ("ferry", {"cars": 1, "locations": 2}, "c1", "at", "at-ferry"),
        ("miconic", {"passengers": 1, "floors": 3}, "p1", "origin", "lift-at"),
    ):
        task = task_of(name, seed, **sizes)
        (here,) = [atom.objects[0] for atom in task.text.init if atom.predicate == vehicle]
        assert len(plan_of(task)) == 3 + (here != place_of(task, moved, start))


def test_a_vehicle_of_capacity_one_carries_packages_one_by_one():
    """Both packages from one location to the other: two trips, and one back or to the start."""
    for seed in range(30):
        task = task_of("transport", seed, vehicles=1, packages=2, locations=2, capacity=1)
        here = place_of(task, "p1")
        if here == place_of(task, "p2"):
            assert len(plan_of(task)) == 4 + 3 + (here != place_of(task, "v1"))
            return
    raise AssertionError("no seed put both packages into one location")


def test_roads_of_transport_reach_every_location():
    task = task_of("transport", 3, vehicles=1, packages=1, locations=30, capacity=2)
    roads = {atom.objects for atom in task.static_atoms if atom.predicate == "road"}
    assert all((second, first) in roads for first, second in roads)
    assert len(connected("l1", roads)) == 30


@pytest.mark.parametrize("allergic", [0, 1, 2])
def test_childsnack_makes_trays_up_and_visits_every_table_where_a_child_waits(allergic):
    task = task_of("childsnack", children=2, trays=1, sandwiches=3, allergic=allergic)
    for kind in ("bread", "content"):
        assert sum(atom.predicate == f"no_gluten_{kind}" for atom in task.text.init) == allergic
    tables = {place_of(task, child, "waiting") for child in ("child1", "child2")}
    assert len(plan_of(task)) == 3 * 2 + len(tables)


def test_rovers_reach_half_of_the_waypoints_and_one_that_the_lander_hears():
    for seed in range(8):
        task = task_of("rovers", seed, rovers=3, waypoints=9, cameras=2, objectives=2)
        (lander,) = [atom.objects[1] for atom in task.text.init if atom.predicate == "at_lander"]
        visible = {atom.objects for atom in task.static_atoms if atom.predicate == "visible"}
        for rover in ("rover1", "rover2", "rover3"):
            edges = [atom.objects[1:] for atom in task.static_atoms if atom[:1] == ("can_traverse",)
                     and atom.objects[0] == rover]  # fmt: skip
            reached = {place for edge in edges for place in edge}
            assert len(reached) >= 5
            assert len(edges) == 2 * (len(reached) - 1), "a tree, both ways"
            assert set(edges) <= visible
            assert place_of(task, rover) in reached
            assert any((place, lander) in visible for place in reached)


@pytest.mark.parametrize(("spanners", "nuts", "locations"), [(1, 1, 1), (3, 2, 2)])
def test_spanners_plan_is_the_way_and_two_actions_a_nut(spanners, nuts, locations):
    task = task_of("spanner", spanners=spanners, nuts=nuts, locations=locations)
    assert len(plan_of(task)) == locations + 1 + 2 * nuts
    with pytest.raises(ConfigurationError, match="the arguments conflict"):
        task_of("spanner", spanners=1, nuts=2, locations=1)


def test_a_chequerboard_is_wanted_above_the_lowest_row():
    task = task_of("floortile", robots=2, rows=3, columns=4)
    wanted = {atom.objects[0]: atom.objects[1] for atom in task.goal_atoms}
    assert len(wanted) == 12
    assert not any(tile.startswith("tile0-") for tile in wanted)
    for word in ("up", "right"):
        pairs = [atom.objects for atom in task.static_atoms if atom.predicate == word]
        assert len(pairs) == {"up": 12, "right": 12}[word]
        assert all(wanted[one] != wanted[other] for one, other in pairs if {one, other} <= set(wanted))
    with pytest.raises(ConfigurationError, match="the arguments conflict"):
        task_of("floortile", robots=3, rows=1, columns=2)


@pytest.mark.parametrize("seed", range(4))
def test_one_crate_is_lifted_loaded_driven_unloaded_and_dropped(seed):
    task = task_of("depot", seed, depots=1, distributors=1, trucks=1, pallets=2, hoists=2, crates=1)
    assert len(plan_of(task)) == 5 + (place_of(task, "truck1") != place_of(task, "crate1"))


def test_every_place_has_a_pallet_and_a_hoist_and_crates_are_where_their_piles_stand():
    sizes = {"depots": 2, "distributors": 2, "trucks": 1, "pallets": 5, "hoists": 6, "crates": 9}
    task = task_of("depot", **sizes)
    for kind, count in (("pallet", 5), ("hoist", 6)):
        assert len({place_of(task, f"{kind}{number}") for number in range(1, count + 1)}) == 4
    below = dict(atom.objects for atom in task.text.init if atom.predicate == "on")
    assert len(below) == len(set(below.values())) == 9
    assert all(place_of(task, crate) == place_of(task, surface) for crate, surface in below.items())
    clear = {atom.objects[0] for atom in task.text.init if atom.predicate == "clear"}
    assert len(clear) == 5
    assert not clear & set(below.values())
    assert len(task.goal) == 9
    assert len(task_of("depot", **sizes, goals=4).goal) == 4
    with pytest.raises(ConfigurationError, match="the arguments conflict"):
        task_of("depot", **{**sizes, "hoists": 3})


def test_crates_are_arrangement_uniformly():
    rng = np.random.default_rng(3)
    drawn = Counter(tuple(sorted(_arrangement(rng, ["p", "q"], ["a", "b"]).items())) for _ in range(6000))
    assert len(drawn) == 6  # one pile on either pallet, in two orders, or a crate on each
    # 1000 expected of each, with a standard deviation of 29.
    assert all(abs(count - 1000) < 150 for count in drawn.values()), drawn


def spot_of(task, predicate):
    """Row and column of the one location of which a predicate is true."""
    (name,) = [atom.objects[0] for atom in task.text.init if atom.predicate == predicate]
    return tuple(map(int, name[1:-1].split("-")))


@pytest.mark.parametrize("seed", range(3))
def test_the_laser_then_a_bomb_are_a_plan_whatever_the_rocks(seed):
    rows, columns = 4, 5
    task = task_of("goldminer", seed, rows=rows, columns=columns)
    rocks = [atom for atom in task.text.init if atom.predicate in ("soft-rock-at", "hard-rock-at")]
    assert {atom.objects[0] for atom in rocks} == {f"f{r}-{c}f" for r in range(rows) for c in range(1, columns)}
    supply, (row, last) = spot_of(task, "laser-at")[0], spot_of(task, "gold-at")
    assert (supply, 0) == spot_of(task, "bomb-at") != spot_of(task, "robot-at")
    assert last == columns - 1

    def act(name, *spots):
        return Action(name, tuple(f"f{row}-{column}f" for row, column in spots))

    def walk(*spots):
        """Moves from location to location; consecutive ones share a row or column."""
        here, plan = spots[0], []
        for goal in spots[1:]:
            while here != goal:
                step = tuple(x + (y > x) - (y < x) for x, y in zip(here, goal, strict=True))
                plan.append(act("move", here, step))
                here = step
        return plan

    store, (first, *inside, gold) = (supply, 0), [(row, column) for column in range(columns)]
    plan = [*walk(spot_of(task, "robot-at"), store), act("pickup-laser", store), *walk(store, first)]
    for here, there in pairwise([first, *inside]):
        plan += [act("fire-laser", here, there), act("move", here, there)]
    plan += [act("putdown-laser", inside[-1]), *walk(inside[-1], first, store)]
    plan += [act("pickup-bomb", store), *walk(store, first, inside[-1])]
    plan += [act("detonate-bomb", inside[-1], gold), act("move", inside[-1], gold), act("pick-gold", gold)]
    assert task.is_goal(replay(task, plan)[-1])


@pytest.mark.parametrize("seed", range(4))
def test_a_key_opens_every_lock_on_its_way(seed):
    """All places but the robot's are locked: pick up, unlock and move one or two steps, put down."""
    task = task_of("grid", seed, rows=2, columns=2, shapes=1, keys=1, locks=3)
    (robot,) = [atom.objects[0] for atom in task.text.init if atom.predicate == "at-robot"]
    (wanted,) = [atom.objects[1] for atom in task.goal_atoms]
    assert place_of(task, "key1") == robot
    neighbours = Atom("conn", (robot, wanted)) in task.static_atoms
    assert len(plan_of(task)) == 2 + 2 * (1 if neighbours else 2)


@pytest.mark.parametrize("locks", [0, 4, 8])
def test_all_locks_of_a_grid_can_be_opened(locks):
    domain = get_domain("grid")
    for seed in range(6):
        arguments = {"rows": 3, "columns": 3, "shapes": 2, "keys": 3, "locks": locks, "goals": 2}
        text = domain.generate(np.random.default_rng(seed), **arguments)
        task = Task(Problem("generated", domain.pddl, text))
        locked = [atom.objects[0] for atom in task.text.init if atom.predicate == "locked"]
        assert len(locked) == locks
        assert len(task.goal) == 2
        assert not set(task.goal_atoms) & set(task.text.init)
        opened = " ".join(["(arm-empty)", *(f"(open {place})" for place in locked)])
        harder = text.partition("(:goal")[0] + f"(:goal (and {opened})))"
        assert find_plan(Problem("opened", domain.pddl, harder)).plan is not None
    with pytest.raises(ConfigurationError, match="the arguments conflict"):
        task_of("grid", rows=2, columns=2, shapes=1, keys=1, locks=4)


@pytest.mark.parametrize("seed", range(3))
def test_the_cells_that_sokobans_keeper_reaches_after_a_pull_are_those_of_a_search(seed, monkeypatch):
    pulls, after = [], maps._reachable_after_pull

    def checked(near, free, left, step):
        reached = after(near, free, left, step)
        assert reached == maps.reachable(free, maps._moved(left, step, 2))
        pulls.append(step)
        return reached

    monkeypatch.setattr(maps, "_reachable_after_pull", checked)
    task = task_of("sokoban", seed, cells=60 + 10 * seed, boxes=5 + seed)
    assert len(pulls) > 10
    assert not set(task.goal_atoms) & set(task.text.init)
    clear = {atom.objects[0] for atom in task.text.init if atom.predicate == "clear"}
    assert len(clear) == 55 + 9 * seed
    assert not clear & {place_of(task, f"box{number}") for number in range(1, 6 + seed)}
