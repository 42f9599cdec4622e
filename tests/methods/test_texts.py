"""Sentence encoders of methods that plan, and detection of files with other weights."""

from __future__ import annotations

import pytest

import sgp
from sgp.encoders.text import TextConfig
from sgp.errors import StoreError
from sgp.files import read_json, write_json
from sgp.methods.state_encoders import Text

SETTINGS = {"encoder": "text", "text.sentences": "hashed"}


@pytest.mark.slow
def test_a_planner_over_sentences_is_trained_saved_and_loaded(home):
    run = sgp.train("contrastive-delta", "gripper", "state-centric", overrides=SETTINGS, device="cpu")
    assert run.record["facts"]["dimension"] == 256
    tasks = [sgp.Task(problem) for problem in sgp.load_suite("state-centric").problems("gripper", "validation")]
    first, again = (sgp.load_planner(run.folder).solve_many(tasks, sgp.Limit(actions=10)) for _ in range(2))
    assert first == again
    assert all(len(rollout.steps) > 1 for rollout in first)


def test_an_encoder_of_other_weights_is_refused(tmp_path, three_blocks):
    kind = Text(TextConfig("hashed"))
    kind.save(kind.fit([(three_blocks, [three_blocks.init])], 3), tmp_path / "encoder.json")
    found = kind.load(tmp_path / "encoder.json", three_blocks.domain_text, 3)
    assert found.embed_goal(three_blocks).shape == (256,)
    write_json(tmp_path / "encoder.json", {"vectors": "another"})
    with pytest.raises(StoreError, match=r"is of vectors by 'another', here they are by .*; train the run again"):
        kind.load(tmp_path / "encoder.json", three_blocks.domain_text, 3)
    assert read_json(tmp_path / "encoder.json") == {"vectors": "another"}
