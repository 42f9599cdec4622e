"""Planners by the conventions of scikit-learn."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import sgp
from sgp.errors import ConfigurationError, DomainMismatch, InputError, SuiteError
from sgp.planning.validation import validate

SUITE = sgp.load_suite("state-centric")
PROBLEMS = [*SUITE.problems("gripper", "train"), *SUITE.problems("gripper", "validation")]
QUICK = {"labels__states": 60, "labels__space": 3000}


def plans_of(problems):
    plans = {**sgp.expert_plans(SUITE, "gripper", "train"), **sgp.expert_plans(SUITE, "gripper", "validation")}
    return [plans[problem.sha256].plan for problem in problems]


def test_it_is_cloned_with_its_parameters_and_without_what_it_learned(home):
    fitted = sgp.Estimator("zero-change", seed=5, limit=sgp.Limit(actions=9)).fit(PROBLEMS[:3])
    again = clone(fitted)
    assert again is not fitted
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "run_")
    with pytest.raises(InputError, match="not fitted"):
        again.predict(PROBLEMS)
    check_is_fitted(fitted)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(again)


def test_the_constructor_checks_nothing_and_keeps_every_parameter_as_it_is():
    limit = sgp.Limit(seconds=3)
    estimator = sgp.Estimator("no-such-method", None, "greedy", 7, "cpu", 2, limit, loss__alpha=0.1)
    assert estimator.get_params() == {
        "method": "no-such-method",
        "variant": None,
        "decoding": "greedy",
        "seed": 7,
        "device": "cpu",
        "jobs": 2,
        "limit": limit,
        "loss__alpha": 0.1,
    }
    assert estimator.get_params(deep=False)["limit"] is limit
    with pytest.raises(InputError, match="unknown method 'no-such-method'"):
        estimator.fit(PROBLEMS)


def test_parameters_are_set_all_or_none():
    estimator = sgp.Estimator()
    assert estimator.set_params(loss__alpha=0.1, decoding="greedy") is estimator
    before = estimator.get_params()
    assert (before["loss__alpha"], before["decoding"]) == (0.1, "greedy")
    for wrong, words in (
        ({"loss__beta": 1, "seed": 1}, "unknown setting 'beta'"),
        ({"colour": "red"}, "unknown setting 'colour'"),
        ({"decoding": "sideways"}, "no decoding 'sideways'"),
        ({"variant": "quantum"}, "no variant 'quantum'"),
        ({"loss__alpha": "many"}, "expected float"),
        ({"method": 3}, "method is 3; expected a name"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            estimator.set_params(**wrong)
        assert estimator.get_params() == before


def test_it_shows_what_is_not_the_default():
    assert repr(sgp.Estimator()) == "Estimator()"
    shown = repr(sgp.Estimator("gnn-value", seed=3, shape__layers=2))
    assert shown == "Estimator(method='gnn-value', seed=3, shape__layers=2)"
    assert (
        eval(shown, {"Estimator": sgp.Estimator}).get_params()
        == sgp.Estimator("gnn-value", seed=3, shape__layers=2).get_params()
    )


def test_scikit_learn_asks_for_its_tags():
    tags = get_tags(sgp.Estimator())
    assert tags.target_tags.required is False
    assert not tags.input_tags.two_d_array
    assert not is_classifier(sgp.Estimator())
    assert not is_regressor(sgp.Estimator())


def test_it_learns_from_problems_predicts_plans_and_is_scored_by_val(home):
    estimator = sgp.Estimator(**QUICK)
    assert estimator.fit(PROBLEMS[:4]) is estimator
    larger = SUITE.problems("gripper", "interpolation")[:2]
    for problem, plan in zip(larger, estimator.predict(larger), strict=True):
        assert validate(problem, plan).valid
    assert estimator.score(larger) == 1.0
    assert estimator.set_params(limit=sgp.Limit(actions=2)).score(larger) == 0.0
    assert estimator.predict(larger) == [None, None]
    (run,) = sgp.list_runs()
    assert run.folder == estimator.run_.folder, "a run of the store like any other"
    assert run.key.domain == "gripper"
    assert run.key.suite.startswith("problems-")
    assert sgp.solve(larger[0], run.folder).solved


def test_given_plans_are_learned_from_and_experts_stand_in_for_the_others(home, monkeypatch):
    asked = []
    from sgp.datasets import given_problems

    true = given_problems.plans_of
    monkeypatch.setattr(
        given_problems, "plans_of", lambda problems, *rest: asked.extend(problems) or true(problems, *rest)
    )
    plans = plans_of(PROBLEMS[:4])
    run = sgp.Estimator("zero-change").fit(PROBLEMS[:4], plans).run_
    assert asked == []
    assert sgp.Estimator("zero-change").fit(PROBLEMS[:4]).run_.record["data"] == run.record["data"], "the same plans"
    assert asked == list(PROBLEMS[:4])
    asked.clear()
    texts = [None, *(sgp.format_plan(plan) for plan in plans[1:])]
    assert sgp.Estimator("zero-change").fit(PROBLEMS[:4], texts).run_.sha256 == run.sha256, "the run that there is"
    assert asked == [PROBLEMS[0]]


def test_what_cannot_be_learned_from_is_refused(home):
    other = SUITE.problems("visitall", "train")[0]
    estimator = sgp.Estimator("zero-change")
    for problems, plans, words in (
        ([], None, "no problem to learn from"),
        ([*PROBLEMS, other], None, "of several domains.*lacks the predicates"),
        (PROBLEMS, [None], "1 plans are given for"),
        (PROBLEMS[:2], ["", ""], "have no plan of at least one action"),
    ):
        with pytest.raises(SuiteError, match=words):
            estimator.fit(problems, plans)
    with pytest.raises(sgp.SgpError, match=r"not applicable|ends short"):
        estimator.fit(PROBLEMS[:2], ["(move rooma roomb)", "(move rooma roomb)"])
    estimator.fit(PROBLEMS)
    with pytest.raises(DomainMismatch):
        estimator.predict([other])
    with pytest.raises(InputError, match="no problem to score on"):
        estimator.score([])


def test_a_grid_search_chooses_among_settings(home):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(
            sgp.Estimator(**QUICK), {"loss__alpha": [0.1, 1.0], "decoding": ["default", "greedy"]}, cv=2
        ).fit(PROBLEMS[:4])
    assert len(search.cv_results_["params"]) == 4
    assert 0 <= search.best_score_ <= 1
    assert search.best_estimator_.run_.training["loss"]["alpha"] == search.best_params_["loss__alpha"]
    assert search.best_estimator_.predict(PROBLEMS[:1]) == search.predict(PROBLEMS[:1])
    # Two folds by two settings of training, and the best anew on all; another decoding trains nothing.
    assert len(sgp.list_runs()) == 5


@pytest.mark.slow
def test_a_grid_search_hands_plans_on_and_sends_estimators_to_processes(home):
    estimator = sgp.Estimator("zero-change")
    found = cross_val_score(estimator, PROBLEMS[:4], plans_of(PROBLEMS[:4]), cv=2, n_jobs=2)
    assert found.shape == (2,)


@pytest.mark.slow
def test_scikit_learn_is_imported_only_where_it_asks():
    code = "import sys; sys.modules['sklearn'] = None; import sgp; print(sgp.Estimator(seed=2).set_params(seed=3))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "Estimator(seed=3)", done.stderr
