import shutil
from dataclasses import replace

import pytest

import sgp
from sgp.datasets import walks
from sgp.datasets.importing import import_folder
from sgp.datasets.protocols import PROTOCOLS, ProtocolSplit, domain_instances, protocol_splits, split_instances
from sgp.datasets.store import cache_folder
from sgp.datasets.training_data import steps_of
from sgp.datasets.walks import instance, instances
from sgp.domains import words_of
from sgp.errors import InputError, StoreError, SuiteError
from sgp.files import read_json, write_json
from sgp.planning.state_space import StateSpace
from sgp.planning.task import Task


@pytest.fixture(scope="module", autouse=True)
def _home(in_shared_home):
    """Instances are computed once and cached."""


@pytest.fixture(scope="module")
def ferry():
    return domain_instances("acpbench", "ferry")[:6]


def said(transitions):
    """Return the fluents and the action of each transition, without goal and static facts."""
    return {(frozenset(map(each.task.fluent, each.task.fluents(each.before))), each.action) for each in transitions}


def by_key(instances, wanted):
    return [each for one in instances for each in one.transitions if (each.task, each.before, each.action) in wanted]


def keys(transitions):
    return {(each.task, each.before, each.action) for each in transitions}


def test_interpolation_parts_transitions(ferry):
    train, test = split_instances("interpolation", ferry, 42)
    everything = {key for instance in ferry for key in keys(instance.transitions)}
    assert len(train.transitions) == round(0.8 * len(everything))
    left = everything - keys(train.transitions)
    assert keys(test.transitions) <= left
    assert not said(test.transitions) & said(train.transitions)
    assert all(said([each]) & said(train.transitions) for each in by_key(ferry, left - keys(test.transitions)))
    assert not test.walks


def test_plan_variant_parts_the_plans_of_every_instance(ferry):
    train, test = split_instances("plan-variant", ferry, 42)
    for several in ferry:
        ours = {(walk.states[0], walk.actions) for walk in several.walks}
        learned, held = (
            {(walk.states[0], walk.actions) for walk in side.walks if walk.task is several.task}
            for side in (train, test)
        )
        assert learned | held == ours
        assert not learned & held
        assert len(learned) == round(0.8 * len(ours))
    assert keys(test.transitions) & keys(train.transitions), "plans differ, their steps need not"


def test_an_instance_of_one_plan_is_left_out_of_plan_variant_and_told(ferry, caplog):
    alone = replace(ferry[0], walks=ferry[0].walks[:1])
    for _ in range(2):
        sides = split_instances("plan-variant", [alone, ferry[1]], 42)
    assert {walk.task for side in sides for walk in side.walks} == {ferry[1].task}
    assert caplog.text.count(f"instance {alone.name} of ferry has one plan alone; it is left out") == 1


def test_extrapolation_parts_instances(ferry):
    train, test = split_instances("extrapolation", ferry, 42)
    learned, held = ({each.task for each in side.transitions} for side in (train, test))
    assert (len(learned), len(held)) == (5, 1), "all six differ in objects"
    assert not learned & held
    assert split_instances("multi-domain", ferry, 42)[1].transitions == test.transitions
    others = {split_instances("extrapolation", ferry, seed)[1].transitions[0].task.name for seed in range(12)}
    assert len(others) > 1, "seeds hold out other instances"


@pytest.mark.parametrize("seed", [42, 123, 456])
def test_instances_of_the_same_objects_are_held_out_together(seed):
    """Of Blocksworld's instances five have the same three blocks, and three the same five."""
    train, test = split_instances("extrapolation", domain_instances("acpbench", "blocksworld"), seed)
    objects = [{frozenset(each.task.objects) for each in side.transitions} for side in (train, test)]
    assert not objects[0] & objects[1]
    assert not said(train.transitions) & said(test.transitions)


def test_whole_domains_are_parted_by_the_others():
    names = ("blocksworld", "ferry", "satellite")
    by = {protocol: protocol_splits("acpbench", protocol, names, seed=7) for protocol in PROTOCOLS}
    within = ("interpolation", "plan-variant", "extrapolation")
    counts = {**dict.fromkeys(within, 3), "multi-domain": 1, "cross-domain": 3, "leave-one-out": 3}
    assert {key: len(found) for key, found in by.items()} == counts
    assert [(each.train_domains, each.test_domains) for each in by["leave-one-out"]] == [
        (("ferry", "satellite"), ("blocksworld",)),
        (("blocksworld", "satellite"), ("ferry",)),
        (("blocksworld", "ferry"), ("satellite",)),
    ]
    pairs = sum(len(each.test_domains) for each in protocol_splits("acpbench", "cross-domain"))
    assert pairs == 72  # embedplan, appendix D.3
    for split in by["cross-domain"]:
        assert not set(split.train_domains) & set(split.test_domains)


def test_a_tenth_is_held_for_validation_and_the_rest_bounded():
    split = ProtocolSplit("acpbench", "extrapolation", ("ferry",), ("ferry",), 42, max_transitions=100)
    data, again = split.replayed(), split.replayed()
    assert (len(data.train), len(data.validation)) == (90, 10)
    assert keys(data.train) == keys(again.train)
    assert not keys(data.train) & keys(data.validation)
    assert not keys(data.train) & keys(split.held_out("ferry").transitions)
    assert data.facts["transitions"] == 90
    others = [replace(split, seed=43), replace(split, max_transitions=99)]
    assert len({each.sha256 for each in (split, *others)}) == 3


def test_what_cannot_be_parted_is_told(ferry):
    with pytest.raises(SuiteError, match="ferry has 1 instance with objects and static facts of its own"):
        split_instances("extrapolation", ferry[:1], 42)
    of_one_plan = replace(ferry[0], walks=ferry[0].walks[:1])
    with pytest.raises(SuiteError, match="every instance of ferry has one plan alone; protocol plan-variant needs"):
        split_instances("plan-variant", [of_one_plan], 42)
    with pytest.raises(InputError, match="unknown protocol 'extrapolate'; "):
        protocol_splits("acpbench", "extrapolate")
    with pytest.raises(SuiteError, match="protocol cross-domain needs at least two domains; there is ferry alone"):
        protocol_splits("acpbench", "cross-domain", ["ferry"])


@pytest.mark.slow
def test_shots_are_a_few_of_each_schema_and_are_not_measured():
    found = {}
    for shots in (0, 1, 3):
        splits = protocol_splits("acpbench", "leave-one-out", ["ferry", "satellite"], 42, 60, shots)
        (found[shots],) = (each for each in splits if each.test_domains == ("ferry",))
    trained = {shots: each.replayed().train for shots, each in found.items()}
    shown = {shots: [one for one in trained[shots] if one.task.domain_text.name == "ferry"] for shots in found}
    assert shown[0] == []
    schemas = {each.action.name for each in found[0].held_out("ferry").transitions}
    for shots in (1, 3):
        names = [each.action.name for each in shown[shots]]
        assert {name: names.count(name) for name in names} == dict.fromkeys(schemas, shots)
        assert not said(shown[shots]) & said(found[shots].held_out("ferry").transitions)
        walks = found[shots].held_out("ferry").walks
        assert walks
        assert not said(shown[shots]) & said(step for walk in walks for step in steps_of(walk)), "nor whole plans"
        assert list(found[shots].replayed().domains) == ["satellite", "ferry"]
    assert said(shown[1]) <= said(shown[3])
    assert len({each.sha256 for each in found.values()}) == 3


@pytest.mark.parametrize(("protocol", "shots"), [("cross-domain", 1), ("leave-one-out", -1)])
def test_shots_are_of_a_domain_left_out(protocol, shots):
    with pytest.raises(InputError, match=f"{shots} transitions of each schema in protocol {protocol}; expected 0"):
        protocol_splits("acpbench", protocol, ["ferry", "satellite"], 42, 60, shots)


SUITE = sgp.load_suite("acpbench")


def test_the_suite_has_nine_domains_of_which_all_is_said():
    assert len(SUITE.domains) == 9
    assert sum(len(domain.splits) for domain in SUITE.domains.values()) == 69
    for name in SUITE.domains:
        text = SUITE.domain_text(name)
        assert not words_of(text).lacking(text), name
    assert (SUITE.folder / "LICENSE").read_text().startswith("Community Data License Agreement - Permissive")


@pytest.mark.parametrize(("domain", "split"), [("ferry", "p04"), ("blocksworld", "p06"), ("depot", "p01")])
def test_walks_are_distinct_optimal_plans_from_states_that_can_be_reached(home, domain, split):
    found = instance(SUITE, domain, split)
    assert found.optimal
    assert len(found.walks) == walks.MOST_PLANS
    assert len({(walk.states[0], walk.actions) for walk in found.walks}) == len(found.walks)
    space = StateSpace.expand(Task(SUITE.problems(domain, split)[0]), walks.MOST_STATES)
    for walk in found.walks:
        assert found.task.is_goal(walk.states[-1])
        atoms = [each for each in found.task.atoms(walk.states[0]) if each.predicate in found.task.changing]
        place = space.place(space.task.state_with(atoms))
        assert space.distances[place] == len(walk) > 0
    assert len(found.transitions) <= walks.MOST_TRANSITIONS
    assert len({(each.before, each.action) for each in found.transitions}) == len(found.transitions)
    for each in found.transitions[:20]:
        assert found.task.apply(each.before, each.action) == each.after
    assert len(found.sampled) == min(len(space), walks.SAMPLED)


def test_all_starts_of_an_instance_have_walks_in_its_first_ones(home):
    found = instance(SUITE, "ferry", "p03")
    starts = [Task(problem) for problem in SUITE.problems("ferry", "p03")]
    begun = [found.task.atoms(walk.states[0]) for walk in found.walks[: len(starts)]]
    assert [set(each.atoms(each.init)) for each in starts] == list(map(set, begun))


def test_what_was_found_is_kept_and_found_again(home):
    first, again = instance(SUITE, "ferry", "p02"), instance(SUITE, "ferry", "p02")
    assert [walk.actions for walk in first.walks] == [walk.actions for walk in again.walks]
    (file,) = (cache_folder() / "walks").iterdir()
    write_json(file, {**read_json(file), "plans": [[[10_000], ["(sail l0 l1)"]]]})
    with pytest.raises(StoreError, match=r"holds no plans .*; remove it, and they are made again"):
        instance(SUITE, "ferry", "p02")
    file.unlink()
    instance(SUITE, "ferry", "p02")
    kept = read_json(file)
    write_json(file, {**kept, "plans": [[kept["plans"][0][0], ["(debark c0 c0)"]]]})
    not_applicable = r"does not fit .*action \(debark c0 c0\) is not applicable in p02; .*; remove it, and it is made"
    with pytest.raises(StoreError, match=not_applicable):
        instance(SUITE, "ferry", "p02")
    file.unlink()
    assert [walk.actions for walk in instance(SUITE, "ferry", "p02").walks] == [walk.actions for walk in first.walks]


def test_experts_plans_serve_where_the_state_space_is_too_large(home, monkeypatch):
    monkeypatch.setattr(walks, "MOST_STATES", 20)
    found = instance(SUITE, "ferry", "p02")
    assert not found.optimal
    assert len(found.walks) == len(SUITE.problems("ferry", "p02"))
    assert len(found.sampled) == 40, "random steps meet the whole state space of so small an instance"


@pytest.fixture
def folder(tmp_path):
    """A folder of PDDL with two instances of Ferry, each a split."""
    for split in ("p01", "p02"):
        shutil.copytree(SUITE.folder / "ferry" / split, tmp_path / "acp" / "ferry" / split)
    shutil.copy(SUITE.folder / "ferry" / "domain.pddl", tmp_path / "acp" / "ferry")
    return tmp_path / "acp"


def test_problems_of_a_split_must_be_starts_of_one_instance(home, folder):
    shutil.copy(folder / "ferry/p02/start01.pddl", folder / "ferry/p01/start09.pddl")
    suite = import_folder(folder, "mixed")
    with pytest.raises(SuiteError, match=r"start09\.pddl has other objects, static facts or another goal than"):
        instances(suite, "ferry")


def test_an_instance_without_a_plan_is_refused_by_name(home, folder):
    for file in (folder / "ferry/p01").iterdir():
        text = file.read_text()
        start = text.index("(:goal")
        file.write_text(f"{text[:start]}(:goal (and (on c0) (empty-ferry))))\n")
    suite = import_folder(folder, "hopeless")
    with pytest.raises(SuiteError, match=r"instance p01 of ferry in suite hopeless has no start with a plan"):
        instances(suite, "ferry")
