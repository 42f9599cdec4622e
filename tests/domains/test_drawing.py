"""Drawings show every fluent, name every object, mark the satisfied goals, and escape every name."""

import re
from dataclasses import replace
from itertools import pairwise
from math import dist
from xml.etree import ElementTree

import numpy as np
import pytest

import sgp
from sgp.datasets.recorded import atom_of
from sgp.domains import all_domains, builtin_domains, draw_goal, draw_scene, draw_series, get_domain
from sgp.domains.domain import Scene
from sgp.domains.drawing.layout import keep_places
from sgp.domains.drawing.places import _spots, by_directions, by_distance, from_names
from sgp.planning.pddl import Atom, Literal, Parameter, Problem, read_both, read_domain, read_problem

FERRY = read_domain(
    """(define (domain barge)
      (:requirements :strips :typing)
      (:types vehicle place - object cart - vehicle)
      (:predicates (moored ?v - vehicle ?p - place) (road ?a ?b - place) (loaded ?v - vehicle) (idle)
                   (between ?v - vehicle ?a ?b - place))
      (:action leave :parameters (?v - vehicle ?a ?b - place)
        :precondition (and (moored ?v ?a) (road ?a ?b) (idle))
        :effect (and (not (moored ?v ?a)) (not (idle)) (between ?v ?a ?b) (loaded ?v))))"""
)
# Untyped, with another order of arguments for what is held, and piles.
ROBOTS = read_domain(
    """(define (domain robots)
      (:predicates (room ?r) (ball ?b) (arm ?g) (robby ?r) (where ?b ?r) (holds ?g ?b) (path ?a ?b))
      (:action go :parameters (?a ?b) :precondition (and (room ?a) (room ?b) (robby ?a) (path ?a ?b))
        :effect (and (robby ?b) (not (robby ?a))))
      (:action take :parameters (?o ?r ?g)
        :precondition (and (ball ?o) (room ?r) (arm ?g) (where ?o ?r) (robby ?r))
        :effect (and (holds ?g ?o) (not (where ?o ?r))))
      (:action leave :parameters (?o ?r ?g)
        :precondition (and (ball ?o) (room ?r) (arm ?g) (holds ?g ?o) (robby ?r))
        :effect (and (where ?o ?r) (not (holds ?g ?o)))))"""
)
BRICKS = read_domain(
    """(define (domain bricks) (:predicates (over ?x ?y) (ground ?x) (top ?x) (free) (held ?x))
      (:action grab :parameters (?x) :precondition (and (top ?x) (ground ?x) (free))
        :effect (and (held ?x) (not (top ?x)) (not (ground ?x)) (not (free))))
      (:action put :parameters (?x ?y) :precondition (and (held ?x) (top ?y))
        :effect (and (not (held ?x)) (not (top ?y)) (top ?x) (free) (over ?x ?y)))
      (:action lift :parameters (?x ?y) :precondition (and (over ?x ?y) (top ?x) (free))
        :effect (and (held ?x) (top ?y) (not (top ?x)) (not (free)) (not (over ?x ?y)))))"""
)
HOSTILE = "<script>alert('1')</script>&\"\x00"


def builtin(domain, model, size=None):
    text = domain.texts[model]
    size = size or min(n for n in range(5, 20) if domain.sizes.has(n))
    problem = read_problem(domain.translated(domain.generate_size(np.random.default_rng(4), size), model))
    return text, Scene(problem.objects + text.constants, frozenset(problem.init), problem.goal)


def of_others(domain):
    """Return an instance whose model or names differ from the built-in ones."""
    problem = sgp.load_suite("acpbench").problems(domain, "p02")[0]
    text, found = read_both((problem.domain_pddl, domain), (problem.problem_pddl, problem.name))
    return text, Scene(found.objects + text.constants, frozenset(found.init), found.goal)


def barges(count):
    carts = tuple(Parameter(f"cart{n}", ("cart",)) for n in range(count - 2))
    places = (Parameter("north", ("place",)), Parameter("south", ("place",)))
    atoms = {Atom("road", ("north", "south")), Atom("idle", ())}
    atoms |= {Atom("moored", (cart.name, "north")) for cart in carts}
    goal = (Literal(Atom("moored", ("cart0", "south")), True), Literal(Atom("idle", ()), True))
    return FERRY, Scene(carts + places, frozenset(atoms), goal)


def scene_of(objects, atoms, goal=""):
    """Return a scene of untyped objects."""
    true, wanted = (tuple(atom_of(f"({each})") for each in text.split(", ") if each) for text in (atoms, goal))
    names = tuple(Parameter(name, ("object",)) for name in objects.split())
    return Scene(names, frozenset(true), tuple(Literal(atom, True) for atom in wanted))


ROOMS = "room a, room b, arm left, arm right, ball x, ball y, ball z, path a b, path b a, robby a, where z b"


def robots(held="holds left x, holds left y"):
    return ROBOTS, scene_of("a b left right x y z", f"{ROOMS}, {held}", "where x b, where z b")


def bricks(atoms="over c b, over b a, ground a, top c, ground d, top d, free"):
    return BRICKS, scene_of("a b c d", atoms, "over b a, over d c")


EVERY = {
    f"{domain.name}, {model}": (lambda domain=domain, model=model: builtin(domain, model))
    for domain in all_domains()
    for model in domain.models
}
EVERY |= {f"acpbench, {name}": (lambda name=name: of_others(name)) for name in sgp.load_suite("acpbench").domains}
EVERY |= {"places": lambda: barges(7), "tables": lambda: barges(70), "untyped": robots, "piles": bricks}
every_scene = pytest.mark.parametrize("made", EVERY.values(), ids=EVERY.keys())


def visible(svg):
    """Return the drawing without titles, which only a pointer shows."""
    return re.sub(r"<title>.*?</title>", "", svg, flags=re.DOTALL)


def checks(svg):
    return [group for group in ElementTree.fromstring(svg).iter() if group.get("class") == "goal-holds"]


def an_atom(text, scene, predicate):
    """Return an atom of a predicate that is false in a scene, over its first objects."""
    return Atom(predicate, scene.names[: text.predicates[predicate]])


@every_scene
def test_every_fluent_is_seen(made):
    text, scene = made()
    drawn = visible(draw_scene(text, scene))
    for predicate in text.fluent_predicates:
        true = [atom for atom in scene.ordered if atom.predicate == predicate][:3]
        for atom in (*true, an_atom(text, scene, predicate)):
            changed = replace(scene, atoms=scene.atoms ^ {atom})
            assert visible(draw_scene(text, changed)) != drawn, atom


@every_scene
def test_every_object_is_named(made):
    text, scene = made()
    for svg in (draw_scene(text, scene), draw_goal(text, scene)):
        elements = list(ElementTree.fromstring(svg).iter())
        assert min(float(element.get("font-size", 12)) for element in elements) >= 9
        titles = " ".join("".join(element.itertext()) for element in elements)
        for name in scene.names:
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", titles), name


@every_scene
def test_goals_that_hold_are_marked_and_no_others(made):
    text, scene = made()
    positive = [literal for literal in scene.goal if literal.positive]
    for held in ([], positive[:1], positive):
        atoms = scene.atoms - {goal.atom for goal in positive} | {goal.atom for goal in held}
        # An atom that contradicts a goal atom may stay: marks depend on goal atoms alone.
        svg = draw_scene(text, replace(scene, atoms=atoms, goal=tuple(positive)))
        assert len({mark[0].text for mark in checks(svg)}) == len(held)
        assert f"satisfied goals: {len(held)} of {len(positive)}" in svg
    assert not checks(draw_goal(text, scene))


@every_scene
def test_goals_without_an_object_to_bear_them_are_listed(made):
    text, scene = made()
    predicate = next(iter(sorted(text.fluent_predicates)))
    absent = Literal(an_atom(text, scene, predicate), False)
    open_ = replace(scene, atoms=scene.atoms | {absent.atom}, goal=(absent,))
    assert not checks(draw_scene(text, open_))
    assert len(checks(draw_scene(text, replace(open_, atoms=scene.atoms - {absent.atom})))) == 1
    assert "must not hold" in draw_goal(text, open_)


@every_scene
def test_names_are_text_never_markup(made):
    text, scene = made()
    old = scene.names[0]

    def renamed(atom):
        return Atom(atom.predicate, tuple(HOSTILE if name == old else name for name in atom.objects))

    hostile = Scene(
        tuple(Parameter(HOSTILE if each.name == old else each.name, each.types) for each in scene.objects),
        frozenset(map(renamed, scene.atoms)),
        tuple(Literal(renamed(atom), positive) for atom, positive in scene.goal),
    )
    for svg in (draw_scene(text, hostile), draw_goal(text, hostile)):
        root = ElementTree.fromstring(svg)
        assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
        assert "<script>" in "".join(root.itertext())
        assert root.get("role") == "img"
        assert root[0].tag.endswith("title")


@pytest.mark.slow
def test_the_same_scene_is_drawn_alike_in_every_process():
    from tests.conftest import python  # here, because it brings the planning library, which drawings do not need

    code = (
        "from tests.domains.test_drawing import EVERY\nfrom sgp.domains import draw_goal, draw_scene\n"
        "import hashlib, sys\ndrawn = [draw(*made()) for made in EVERY.values() for draw in (draw_scene, draw_goal)]\n"
        "assert not {'pymimir', 'torch', 'wlplan'} & set(sys.modules)\n"
        "print(hashlib.sha256(''.join(drawn).encode()).hexdigest())"
    )
    printed = {python("-c", code, PYTHONHASHSEED=seed).stdout for seed in "123"}
    assert len(printed) == 1
    assert "" not in printed


def carriers(svg):
    """Return what each object stands in, by the groups of a drawing: its places by class, other objects by name."""
    root = ElementTree.fromstring(svg)
    above = {child: parent for parent in root.iter() for child in parent}
    found = {}
    for element in root.iter():
        group = above.get(element)
        while element.get("data-object") and group is not None and not (group.get("data-object") or group.get("class")):
            group = above.get(group)
        if element.get("data-object") and group is not None:
            found[element.get("data-object")] = group.get("data-object") or group[0].text.partition(":")[0]
    return found


def test_objects_of_any_domain_stand_where_its_actions_put_them():
    text, scene = robots()
    stands = carriers(draw_scene(text, scene))
    assert {name: stands[name] for name in "xyz"} == {"x": "left", "y": "left", "z": "b"}, "what is held is in the arm"
    assert carriers(draw_goal(text, scene)) == {"x": "b", "z": "b"}
    from tests.conftest import COURIER, COURIER_PROBLEM  # here, because it brings the planning library

    text, scene = read_both((COURIER, "courier"), (COURIER_PROBLEM, "p"))
    objects = scene.objects + text.constants
    atoms = {*scene.init} - {Atom("at", ("q1", "depot"))} | {Atom("in", ("q1", "v1"))}
    stands = carriers(draw_scene(text, Scene(objects, frozenset(atoms), scene.goal)))
    assert stands["q1"] == "v1"


def test_what_is_on_something_of_its_kind_is_drawn_above_it():
    drawn = ElementTree.fromstring(draw_scene(*bricks()))
    spots = {each.get("data-object"): each[1] for each in drawn.iter() if each.get("data-object")}
    heights = {name: float(box.get("y")) for name, box in spots.items()}
    assert heights["c"] < heights["b"] < heights["a"] == heights["d"]
    assert spots["a"].get("x") == spots["b"].get("x") == spots["c"].get("x")


def test_places_of_any_domain_keep_their_spots_in_a_series():
    text, scene = robots()
    scenes = [scene, robots("holds right x, where y b")[1], robots("where x b, where y b")[1]]

    def spots(svg):
        groups = [each for each in ElementTree.fromstring(svg).iter() if each.get("class") in ("room", "arm")]
        return {each[0].text.partition(":")[0]: (each[1].get("x"), each[1].get("y")) for each in groups}

    first, *others = map(spots, draw_series(text, scenes))
    assert first.keys() == {"a", "b", "left", "right"}
    assert others == [first, first]
    assert len(set(first.values())) == 4


def test_towers_keep_their_order_while_blocks_move():
    text = next(iter(get_domain("blocksworld").texts.values()))
    objects = tuple(Parameter(name, ("object",)) for name in ("b1", "b2", "b3"))
    table = {Atom("ontable", (name,)) for name in ("b1", "b2", "b3")}
    lifted = {*table - {Atom("ontable", ("b3",))}, Atom("on", ("b3", "b1"))}

    def left(atoms, name):
        root = ElementTree.fromstring(draw_scene(text, Scene(objects, frozenset(atoms), ())))
        return next(float(each.get("x")) for each in root.iter() if each.text == name and each.get("x"))

    assert left(table, "b1") < left(table, "b2") < left(table, "b3")
    assert left(lifted, "b1") == left(lifted, "b3") == left(table, "b1")
    assert left(lifted, "b2") == left(table, "b2")


def test_cells_stand_where_their_names_tell_unless_the_links_contradict():
    cells = ["c4-7", "c5-7", "c4-8"]
    assert from_names(cells, [("c4-7", "c5-7"), ("c4-7", "c4-8")]) == {"c4-7": (0, 0), "c5-7": (1, 0), "c4-8": (0, 1)}
    assert from_names(cells, [("c5-7", "c4-8")]) is None
    assert from_names(["a", "b"], []) is None
    found = by_distance(["a", "b", "c", "d"], [("a", "b"), ("a", "c")])
    assert found == {"a": (0, 0), "b": (1, 0), "c": (1, 1), "d": (0, 2)}


def test_cells_stand_where_directions_tell_unless_they_contradict_each_other():
    right, down = (1, 0), (0, 1)
    square = {("a", "b"): right, ("a", "c"): down, ("b", "d"): down}
    assert by_directions("abcd", square) == {"a": (0, 0), "b": (1, 0), "c": (0, 1), "d": (1, 1)}
    assert by_directions("abcd", square | {("d", "c"): right}) is None
    assert by_directions("abcd", {("a", "b"): right, ("a", "c"): right}) is None
    assert by_directions("ab", {}) == {"a": (0, 0), "b": (0, 1)}, "what is not joined stands below"


def test_linked_places_stand_side_by_side():
    """A path in random order is drawn on the grid without a gap."""
    names = [f"p{number}" for number in np.random.default_rng(2).permutation(9)]
    links = tuple((f"p{number}", f"p{number + 1}") for number in range(8))
    spots = _spots(tuple(sorted(names)), links, 3)
    assert sorted(spots.values()) == [(x, y) for x in range(3) for y in range(3)]
    assert all(dist(spots[first], spots[second]) == 1 for first, second in links)


def test_atoms_without_a_place_are_said_in_words():
    cars = (Parameter("c1", ("car",)), Parameter("l1", ("location",)))
    scene = Scene(cars, frozenset({Atom("at", ("c1", "l1")), Atom("at", ("c1", "c1")), Atom("on", ("c1",))}), ())
    drawn = visible(draw_scene(get_domain("ferry").texts["typed"], scene))
    assert {atom for atom in scene.atoms if str(atom) in drawn} == {Atom("at", ("c1", "c1"))}


def test_piles_that_cannot_stand_are_said_in_words():
    """Two crates on each other, a second crate on a pallet, a crate located away from its pallet."""
    kinds = {"crate": ("a", "b", "c", "d", "e"), "pallet": ("p", "q"), "depot": ("here", "there")}
    objects = tuple(Parameter(name, (kind,)) for kind, names in kinds.items() for name in names)
    on = {Atom("on", pair) for pair in (("a", "b"), ("b", "a"), ("c", "p"), ("d", "p"), ("e", "q"))}
    at = {Atom("at", (name, "here")) for name in ("c", "d", "p", "q")} | {Atom("at", ("e", "there"))}
    drawn = visible(draw_scene(get_domain("depot").texts["typed"], Scene(objects, frozenset(on | at), ())))
    assert {atom.objects for atom in on if str(atom) in drawn} == {("b", "a"), ("d", "p"), ("e", "q")}


def generated(name, **arguments):
    domain = get_domain(name)
    problem = read_problem(domain.generate(np.random.default_rng(4), **arguments))
    return domain.texts["untyped"], Scene(problem.objects, frozenset(problem.init), problem.goal)


@pytest.mark.parametrize(("cities", "locations", "packages"), [(3, 2, 9), (12, 2, 60), (5, 6, 40)])
def test_cities_stand_in_rows_that_suit_the_players_box(cities, locations, packages):
    text, scene = generated("logistics", cities=cities, locations=locations, airplanes=1, packages=packages)
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', draw_scene(text, scene)).groups())
    assert 0.8 < width / height < 2.1


SIZES = {"blocksworld": 9, "depot": 16, "ferry": 9, "goldminer": 20, "grid": 24, "logistics": 16, "sokoban": 24}
NAMELESS = {"goldminer"}  # moving objects are drawn without names


def walk(domain, size, steps=40):
    """Scenes of a random walk, and the action between consecutive ones; the walk stops at a dead end."""
    from sgp.planning.task import Task  # here, because drawings alone need no planning library

    rng = np.random.default_rng(7)
    task = Task(Problem("p", domain.pddl, domain.generate_size(rng, size)))
    state, scenes, actions = task.init, [], []
    for _ in range(steps):
        scenes.append(Scene(task.objects, frozenset(task.atoms(state)), task.goal))
        successors = task.successors(state)
        if not successors:
            break
        chosen = successors[rng.integers(len(successors))]
        actions.append(chosen.actions[0])
        state = chosen.state
    return task.domain_text, scenes, actions


def places(svg):
    """Return positions of objects: the first rectangle of each, or the start of its first path."""
    found = {}
    for group in ElementTree.fromstring(svg).iter():
        name = group.get("data-object")
        if name and name not in found:
            rects, paths = ([each for each in group.iter() if each.tag.endswith(kind)] for kind in ("}rect", "}path"))
            begin = re.match(r"M([-\d.]+)[ ,]([-\d.]+)", paths[0].get("d")) if paths else None
            found[name] = (rects[0].get("x"), rects[0].get("y")) if rects else begin and begin.groups()
    return found


def goes_along(scene, touched, driven):
    """Objects that move with an argument of the action, or with a robot or lift that the action does not name."""
    for predicate, objects in scene.atoms:
        if predicate in ("in", "on", "ontray") and {*objects[1:]} <= touched:
            yield objects[0]
        elif predicate in ("carrying", "robot-has", "contains") and objects[0] in touched:
            yield objects[1]
        elif predicate in ("boarded", "carry", "holding") and driven:
            yield objects[0]


@pytest.mark.parametrize("name", [domain.name for domain in builtin_domains() if domain.draw])
def test_what_an_action_does_not_move_stays_where_it_is(name):
    domain = get_domain(name)
    text, scenes, actions = walk(domain, SIZES.get(name, 14))
    drawn = draw_series(text, scenes)
    assert len({svg.split("viewBox=")[1].split('"')[1] for svg in drawn}) == 1, "all are equally large"
    moved = 0
    for (before, after), scene, action in zip(pairwise(map(places, drawn)), scenes, actions, strict=False):
        nameless = before.keys() - {*scene.names}  # the domain's single ferry, lift or robot
        touched = {*action.objects, *nameless}
        driven = any(before[thing] != after[thing] for thing in nameless)
        for thing in before.keys() - touched - {*goes_along(scene, touched, driven)}:
            assert before[thing] == after[thing], (action, thing)
        moved += any(before[thing] != after.get(thing) for thing in before)
    assert moved > len(scenes) / 8 or name in NAMELESS


def test_who_comes_takes_the_first_free_slot_and_who_stays_keeps_its_own():
    objects = tuple(Parameter(name, ()) for name in "abc")
    rows = [{"a": "x", "b": "x"}, {"b": "x"}, {"c": "x", "b": "x"}, {"c": "x", "b": "x", "a": "x"}, {"b": "y"}]
    scenes = [Scene(objects, frozenset(Atom("at", pair) for pair in row.items()), ()) for row in rows]
    arranged = keep_places(scenes, range(-1, 4), lambda scene: [(one, ("at", it)) for one, it in scene.pairs("at")])
    slots = [{name: slot for (name, _), slot in scene.places.slots.items()} for scene in arranged]
    assert slots == [{"a": 0, "b": 1}, {"b": 1}, {"b": 1, "c": 0}, {"b": 1, "c": 0, "a": 2}, {"b": 0}]
    assert arranged[0].places.capacity == {("at", "x"): 3, ("at", "y"): 1}


def test_goals_are_no_part_of_a_series():
    text, (scene, *_), _ = walk(get_domain("blocksworld"), 5, 1)
    goal = (Literal(Atom("on", scene.names[:2]), True),)
    assert draw_goal(text, Scene(scene.objects, scene.atoms, goal)).count("data-object") == len(scene.names)


def test_what_follows_aside_keeps_the_places_of_whom_it_follows():
    text, scenes, _ = walk(get_domain("blocksworld"), 9, 12)
    drawn = draw_series(text, [*scenes, scenes[6]], [*range(-1, 11), 5])
    assert places(drawn[-1]) == places(drawn[6])
