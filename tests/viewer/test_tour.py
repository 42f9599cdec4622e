import copy
import re
import xml.etree.ElementTree as ElementTree

import pytest

import sgp
from sgp.analysis.failures import diagnosis
from sgp.datasets.recording import read_rollouts
from sgp.errors import StoreError
from sgp.evaluation.scores import DIAGNOSED, Diagnosis, select
from sgp.experiments.bundle import record_tour
from sgp.viewer.export import script
from sgp.viewer.playback import playback, ranked
from sgp.viewer.tour import Tour, tour_titles


@pytest.fixture(scope="module")
def tour():
    return sgp.viewer.read_tour(sgp.viewer.recorded_folder() / "tour.json")


def test_every_stop_has_words_with_its_numbers_and_drawings(tour):
    numbers = {
        "State": len(tour.data["atoms"]),
        "Graph": len(tour.data["graph"]["edges"]),
        "Embedding": len(tour.data["embedding"]),
        "Training": tour.data["training"]["transitions"],
        "Prediction": 2 * len(tour.data["embedding"]),
        "Map": len(tour.data["embedding"]),
        "Whole plan": len(tour.rollout.steps),
        "Larger problems": tour.opening_size,
        "Another method": tour.data["contrast"]["decisions"],
        "A failure": tour.data["failure"]["step"],
    }
    shares = dict.fromkeys(DIAGNOSED, (0.5, 0.25)) | {"expert_top1": (0.4, 0.12)}
    measured = Diagnosis("In 12% of the decisions.", shares)
    for place, title in enumerate(tour_titles()):
        for level in range(tour.rounds + 1):
            stop = tour.stop(place, level, measured)
            assert str(numbers.get(title, "")) in stop.words
            assert stop.question.endswith("?")
            assert stop.answer
            if title in ("State", "Training"):
                (counted, *_) = re.findall(r"\d+", stop.answer)
                assert not re.search(rf"\b{counted} (are|numbers)\b", stop.words + stop.heading), "before it is asked"
            assert "{" not in stop.question + stop.answer
            if title == "A failure":
                assert [row["values"] for row in stop.bars] == list(shares.values())
            if title == "Nearest successor":
                decision = stop.decision["rollout"]["steps"][stop.decision["at"]]
                change = zip(tour.data["embedding"], tour.data["predicted"], strict=True)
                distance = sum((one - two) ** 2 for one, two in change) ** 0.5
                assert decision["state_cost"] == pytest.approx(distance)
                assert len(decision["beam"]) > 1, "which the lanes show"
            drawings = [drawing for _, drawing in stop.scenes] + [stop.graph] * bool(stop.graph)
            assert bool(drawings or stop.bars or stop.decision) == (title != "Next steps")
            for drawing in drawings:
                assert ElementTree.fromstring(drawing).tag.endswith("svg")


def answer(tour, title, **more):
    return tour.stop(tour_titles().index(title), **more).answer


def test_answers_are_true_of_the_recorded_data(tour):
    data, rollout = tour.data, tour.rollout
    atoms = set(data["atoms"])
    open_goals = [str(goal) for goal in rollout.problem.goal if str(goal.atom) not in atoms]
    assert answer(tour, "State") == f"{len(open_goals)} of {len(rollout.problem.goal)}: {', '.join(open_goals)}."
    last = dict(zip(data["graph"]["nodes"], data["graph"]["colours"][-1], strict=True))
    together = [name for name in last if name in answer(tour, "Colours")]
    assert len(together) > 1
    assert len({last[name] for name in together}) == 1
    assert f"{sum(value != round(value) for value in data['predicted'])} of its" in answer(tour, "Prediction")
    assert tour.actions[tour.chosen] in answer(tour, "Nearest successor")
    assert f"has {len(rollout.steps)} actions, a shortest one {rollout.head['left'][0]:g}" in answer(tour, "Whole plan")
    greedy = [step["greedy"] == step["chosen"] for step in playback(rollout)["steps"]]
    assert answer(tour, "Whole plan").startswith(f"In {greedy.count(False)} of {len(greedy)} decisions")
    assert f"for {len(rollout.steps)} actions" in answer(tour, "Another method")


def test_what_ranks_before_the_choice_at_the_failure_is_explained_by_its_marks(tour):
    def said(**marks):
        head, step = tour.data["failure"]["records"]
        for place, words in marks.items():
            step["candidates"][int(place[1:])]["marks"] = words.split()
        failure = {**tour.data["failure"], "records": [head, step]}
        changed = Tour(tour.source, {**tour.data, "failure": failure})
        return changed.stop(tour_titles().index("A failure")).words

    tour = Tour(tour.source, copy.deepcopy(tour.data))
    (step,) = tour.failure.steps
    (nearer,) = [
        place
        for place in ranked(step)[: ranked(step).index(step["chosen"])]
        if "beam" in step["candidates"][place]["marks"]
    ]
    taken = {tuple(actions): cost for _, actions, cost in step["beam"]}
    near, chosen = (taken[tuple(step["candidates"][place]["actions"])] for place in (nearer, step["chosen"]))
    assert near < chosen, "candidates of one state continue the same path"
    assert "4 without an effect, 1 also kept in the beam but not on the final path, 1 leading to a visited" in said()
    assert "1 not kept in the beam" in said(**{f"c{nearer}": "tied"})
    assert "2 leading to a visited state" in said(**{f"c{nearer}": "visited"})
    assert "1 equivalent to one in the beam" in said(**{f"c{nearer}": "collapsed"})


def test_sizes_show_the_measured_attempts_of_both_methods(tour):
    attempts = sgp.load_attempts()
    about = tour.rollout.about
    place = {"suite": about.suite, "domain": about.domain, "seed": about.seed}
    for size in tour.sizes:
        stop = tour.stop(tour_titles().index("Larger problems"), size=size)
        for row, method in zip(stop.bars, (about, tour.contrast.about), strict=True):
            rows = select(attempts, **place, planner=method.planner.title, size=size)
            assert row["shown"] == [f"{rows['solved'].sum()} of {len(rows)}"]
            assert row["values"] == [rows["solved"].mean()]
        (_, drawn), _ = stop.scenes
        assert all(f">b{block}<" in drawn for block in range(1, size + 1))
        assert f">b{size + 1}<" not in drawn
    solved = select(attempts, **place, planner=about.planner.title, solved=True)["size"]
    first, other = tour.stop(tour_titles().index("Larger problems")).bars
    assert first["values"] < other["values"], "the stop opens at a size at which the methods differ"
    (least,) = re.findall(r"From (\d+) objects", answer(tour, "Larger problems"))
    assert int(least) == min(size for size in tour.sizes if size > solved.max())


# Of the decision that is drawn: actions of the table, ranks of the ruler's ticks and of the map's points, lanes.
DRAWN = """(stop) => {
    SCRIPT
    const row = document.createElement("div");
    row.style.width = "1286px";
    document.body.replaceChildren(row);
    drawStop(row, stop);
    const all = (what, of) => [...row.querySelectorAll(what)].map(of);
    const ranks = (text) => text.split("\\n").map((each) => Number(each.match(/^rank (\\d+)/)[1]));
    return [all(".candidates code", (each) => each.textContent),
        all(".ruler .tick line", (each) => ranks(each.parentElement.firstChild.textContent)).flat(),
        all(".map .point", (each) => ranks(each.getAttribute("aria-label"))).flat(),
        all(".lanes rect, .lanes .kept", (each) => each.tagName)];
}"""


@pytest.mark.browser
def test_a_decision_is_drawn_by_the_players_table_ruler_lanes_and_map(browser, tour):
    page = browser.new_page()
    drawn = DRAWN.replace("SCRIPT", re.sub("^export (default )?", "", script("tour"), flags=re.MULTILINE))
    actions = [tour.actions[place] for place in tour.order]
    ranks = list(range(1, len(actions) + 1))
    kept = sum(len(step["beam"]) for step in tour.rollout.steps[tour.step - 3 : tour.step + 7])  # ten decisions
    for title, points, lanes in (("Nearest successor", [], ["rect", *["g"] * kept]), ("Map", ranks, [])):
        found = page.evaluate(drawn, tour.stop(tour_titles().index(title))._asdict())
        assert [found[0], *map(sorted, found[1:3])] == [actions, ranks, points]
        assert found[3] == lanes
    page.close()
    assert kept > 20


def test_the_recorded_numbers_belong_together_and_another_file_is_one_sentence(tour, tmp_path):
    data = tour.data
    counted = [colour for colours in data["graph"]["colours"] for colour in colours if colour >= 0]
    assert [counted.count(colour) for colour in range(len(data["embedding"]))] == data["embedding"]
    distance = sum((one - two) ** 2 for one, two in zip(data["predicted"], data["chosen"], strict=True)) ** 0.5
    assert data["metric"] == "euclidean"
    candidates = tour.rollout.steps[tour.step - 1]["candidates"]
    assert candidates[tour.chosen]["cost"] == pytest.approx(distance, abs=1e-4)
    costs = [candidates[place]["cost"] for place in tour.order]
    assert costs == sorted(costs)
    assert len(data["atoms"]) == sum(kind in ("true", "goal, true") for kind in data["graph"]["kinds"])
    training = data["training"]
    assert training["change"], "a step of the expert's plan"
    assert set(training["change"]) <= set(training["names"])
    assert set(training["before"]) != set(training["after"])
    (tmp_path / "tour.json").write_text("[]")
    with pytest.raises(StoreError, match="is not a tour"):
        sgp.viewer.read_tour(tmp_path / "tour.json")
    failure = tour.data["failure"]
    step = tour.failure.steps[0]
    assert len(failure["lengths"]) == len(step["candidates"])
    still = [not each["add"] and not each["delete"] for each in step["candidates"]]
    assert [length == 0 for length in failure["lengths"]] == still
    costs = [each["cost"] for each in step["candidates"]]
    assert still[costs.index(min(costs))]
    assert failure["predicted"] < min(length for length in failure["lengths"] if length)
    wanted = tour.failure.head["sha256"], tour.failure.about.planner
    found = sgp.recorded_rollouts().rollouts
    (recorded,) = [each for each in found if (each.head["sha256"], each.about.planner) == wanted]
    assert f"On {failure['idle']} of {failure['steps']} steps" in diagnosis(recorded)[0].sentence


@pytest.mark.slow
def test_it_is_what_the_model_does(monkeypatch, tmp_path, in_shared_home, quick_run):
    def train(method, domain, suite, variant=None, jobs=1):
        return quick_run(method, domain, variant)

    monkeypatch.setattr("sgp.experiments.bundle.train", train)
    recorded = sgp.viewer.read_tour(record_tour(tmp_path, "state-centric", "blocksworld"))
    (rollout,) = read_rollouts(tmp_path / recorded.data["rollout"])
    assert rollout.solved
    assert str(rollout.steps[recorded.step - 1].successor.actions[0]) == recorded.actions[recorded.chosen]
