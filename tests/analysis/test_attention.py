"""Attention weights of a transformer under two namings, as shown in notebook 11."""

import numpy as np
import pytest

import sgp
from sgp.errors import InputError

TASK = sgp.Task(sgp.load_suite("state-centric").problems("blocksworld", "train")[0])


@pytest.mark.parametrize("variant", ["ed", "e"])
def test_tokens_are_atoms_and_two_namings_differ_while_one_does_not_differ_from_itself(variant, quick_run):
    """Equal up to the last bits, which depend on the position in a batch."""
    planner = sgp.load_planner(quick_run("symt", "blocksworld", variant).folder)
    pair, same = sgp.analysis.under_two_namings(planner, TASK), sgp.analysis.under_two_namings(planner, TASK, (1, 1))
    holds = {f"{atom.predicate}({', '.join(atom.objects)})" for atom in TASK.atoms(TASK.init)}
    wanted = {f"{atom.predicate} as goal({', '.join(atom.objects)})" for atom in TASK.goal_atoms}
    assert sorted(pair.atoms) == sorted(holds | wanted)
    layers = planner.policy.value.model.shape.layers if variant == "e" else planner.policy.writer.model.shape.layers
    assert pair.attended.shape == (layers, 2, len(pair.atoms), len(pair.atoms))
    assert np.allclose(pair.attended.sum(axis=3), 1)
    assert min(pair.attention_loss, pair.hidden_loss) > 1e-9
    assert max(same.attention_loss, same.hidden_loss) < 1e-12
    assert np.allclose(same.attended[:, 0], same.attended[:, 1], atol=1e-6)
    assert np.allclose(same.attended[:, 0], pair.attended[:, 1], atol=1e-6)


@pytest.mark.parametrize(("method", "variant"), [("nameless", "pointer"), ("symt", "plangpt")])
def test_a_planner_without_a_transformer_of_atoms_is_refused(method, variant, quick_run):
    planner = sgp.load_planner(quick_run(method, "blocksworld", variant).folder)
    words = "the planner has no transformer of atoms; expected one of method symt, variant ed or e"
    with pytest.raises(InputError, match=words):
        sgp.analysis.under_two_namings(planner, TASK)
