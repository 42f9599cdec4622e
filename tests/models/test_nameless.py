import math

import numpy as np
import pytest
import torch
from torch.nn import functional

import sgp
from sgp.contracts.classes import renamed
from sgp.encoders.trees import TreeConfig, TreeEncoder, applied
from sgp.methods.nameless import ActionProbabilities, NamelessModel, NamelessShape
from sgp.planning.policy import Node, one_step
from sgp.training.tree_ranking import tree_scores

SUITE = sgp.load_suite("state-centric")
TOLD = TreeConfig("actions", depths=False, edges=False)


def network(domain, drawn=False, layers=3):
    encoder = TreeEncoder(SUITE.domain_text(domain), TOLD)
    torch.manual_seed(1)
    actions = {applied(name) for name in encoder.domain.schemas}
    return encoder, NamelessModel(encoder.relations, actions, NamelessShape(layers, 16, 2, drawn)).eval().double()


def tasks(domain, count=3):
    return [sgp.Task(problem) for problem in SUITE.problems(domain, "train")[-count:]]


def tree(encoder, task):
    return encoder.encode(task, task.init, one_step(task, task.init))


@pytest.mark.parametrize("domain", list(SUITE.domains))
def test_scores_are_those_of_the_definition_object_by_object(domain):
    """Against loops over objects, atoms and heads that share no code with the network."""
    encoder, model = network(domain)
    (task,) = tasks(domain, 1)
    found = tree_scores(model, tree(encoder, task), "cpu")[0]
    assert np.allclose(found, by_definition(encoder, model, task), rtol=1e-9, atol=1e-9)
    assert len(set(found.round(6).tolist())) > 1


@torch.no_grad()
def by_definition(encoder, model, task):
    names = list(encoder.relations)
    things = {thing.name: place for place, thing in enumerate(task.objects)}
    state = encoder._states.encode(task, [task.init])
    atoms = [(name, row.tolist()) for name, relation in state.relations.items() for row in relation.arguments]
    hidden, heads = model.shape.hidden, model.shape.heads
    width = hidden // heads
    carried = [model.start.clone() for _ in things]

    def attended(asked, keys, values):
        heard = []
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            logits = torch.stack([asked[part] @ key[part] for key in keys]) / math.sqrt(width)
            weights = functional.softmax(logits, dim=0)
            heard.append(sum(weight * value[part] for weight, value in zip(weights, values, strict=True)))
        return torch.cat(heard)

    for _ in range(model.shape.layers):
        seen = [model.norms[0](each) for each in carried]
        told = {place: ([], []) for place in range(len(carried))}
        for name, row in atoms:
            token = model.kinds.weight[names.index(name)]
            for position, place in enumerate(row):
                token = token + model.gather.weight[position * hidden : (position + 1) * hidden] @ seen[place]
            spoken = model.scatter(model.token(token))
            for position, place in enumerate(row):
                piece = spoken[2 * hidden * position : 2 * hidden * (position + 1)]
                told[place][0].append(piece[:hidden])
                told[place][1].append(piece[hidden:])
        for place, (keys, values) in told.items():
            heard = attended(model.query(seen[place]), keys, values) if keys else torch.zeros(hidden).double()
            carried[place] = carried[place] + model.token_output(heard)
        every = [model.query_key_value(model.norms[1](each)) for each in carried]
        asked, keys, values = ([each[part * hidden : (part + 1) * hidden] for each in every] for part in range(3))
        pairs = zip(carried, asked, strict=True)
        carried = [each + model.object_output(attended(own, keys, values)) for each, own in pairs]
        carried = [each + model.feed_forward(model.norms[2](each)) for each in carried]
    last = [model.norms[3](each) for each in carried]
    scores = []
    for candidate in one_step(task, task.init):
        (action,) = candidate.actions
        read = (
            model.apply_to.weight[:hidden] @ (sum(last) / len(last))
            + model.kinds.weight[names.index(applied(action.name))]
        )
        for position, name in enumerate(action.objects, start=1):
            read = read + model.apply_to.weight[position * hidden : (position + 1) * hidden] @ last[things[name]]
        scores.append(model.score(read).item())
    return scores


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("domain", list(SUITE.domains))
def test_names_and_their_order_change_no_score(domain, reverse):
    encoder, model = network(domain)
    for task in tasks(domain):
        pair = (task, sgp.Task(renamed(task, reverse)))
        one, two = (np.sort(tree_scores(model, tree(encoder, each), "cpu")[0]) for each in pair)
        assert np.allclose(one, two, rtol=1e-9, atol=1e-9)


def test_interchangeable_objects_have_one_key_and_cost_the_same_unless_vectors_are_drawn(monkeypatch):
    encoder, model = network("gripper")
    (task,) = tasks("gripper", 1)
    choice = one_step(task, task.init)
    (ranking,) = ActionProbabilities(encoder, model.float(), "cpu").rank([Node(task, task.init)], [choice])
    picked = [place for place, each in enumerate(choice) if each.actions[0].name == "pick"]
    assert len(picked) > 4
    assert len({(ranking.keys[place], float(ranking.costs[place])) for place in picked}) == 1
    assert len(set(ranking.keys)) == 1 + len(choice) - len(picked)
    assert np.exp(-ranking.costs).sum() == pytest.approx(1, abs=1e-3)
    # Random vectors are fixed by problem, so that plans are deterministic, and differ by object.
    encoder, model = network("gripper", drawn=True)
    policy = ActionProbabilities(encoder, model, "cpu")
    task, other = tasks("gripper", 2)
    nodes = [Node(each, each.init) for each in (task, other)]
    choices = [one_step(each, each.init) for each in (task, other)]
    one, _ = policy.rank(nodes, choices)
    _, two = policy.rank(nodes[::-1], choices[::-1])
    assert one.costs.tolist() == two.costs.tolist()
    assert len(set(one.keys)) == len(choices[0])
