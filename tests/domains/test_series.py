"""In a series of drawings, an action moves only the objects that it affects."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from sgp.domains import builtin_domains, draw_goal, draw_series, get_domain
from sgp.domains.drawing.layout import keep_places
from sgp.planning.domain import Scene
from sgp.planning.pddl import Atom, Literal, Parameter, Problem
from sgp.planning.task import Task

SIZES = {"blocksworld": 9, "depot": 16, "ferry": 9, "goldminer": 20, "grid": 24, "logistics": 16, "sokoban": 24}
NAMELESS = {"goldminer"}  # moving objects are drawn without names


def walk(domain, size, steps=40):
    """Scenes of a random walk, and the action between consecutive ones; the walk stops at a dead end."""
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
        elif predicate in ("carrying", "robot-has") and objects[0] in touched:
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
    for (before, after), (scene, _), action in zip(
        pairwise(map(places, drawn)), pairwise(scenes), actions, strict=False
    ):
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
