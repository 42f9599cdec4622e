"""What methods are trained on where a user gives a list of problems instead of a suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from sgp.datasets.experts import plans_of
from sgp.datasets.training_data import (
    DataKind,
    Demonstration,
    DemonstrationTexts,
    Problems,
    Texts,
    Transitions,
    TransitionTexts,
    hash_of,
    held_out,
)
from sgp.domains import serving
from sgp.errors import SuiteError
from sgp.planning.experts import STAGES, Stage
from sgp.planning.pddl import Action, DomainText, Problem, parse_plan, read_domain, read_problem

Plan: TypeAlias = Sequence[Action] | str | None
"""A plan as actions or as text; None: made by the expert planners."""

_HASH_LENGTH = 12  # of the name that a list of problems has among suites


def given_texts(
    kind: DataKind,
    problems: Sequence[Problem],
    plans: Sequence[Plan] | None = None,
    stages: Sequence[Stage] = STAGES,
    jobs: int = 1,
) -> Texts:
    """What a method that learns from this kind of data is trained on, as text, of problems of one domain.

    Expert plans are made, `jobs` at a time, for problems without a plan; those for which none is found are left out.
    Every fifth problem (at least the last) is held out for validation. The problems have the place of a suite named by
    their hash.
    """
    if not problems:
        raise SuiteError("no problem to learn from is given; expected at least one")
    domain, largest = _domain_of(problems)
    names = {"domain": _name(domain), "domain_pddl": problems[0].domain_pddl}
    if kind is Problems:
        train, validation = held_out(list(problems))
        digest = hash_of((*train, *validation))
        return Problems(
            suite=_suite(digest),
            train=tuple(train),
            validation=tuple(validation),
            sha256=digest,
            largest=largest,
            **names,
        )
    shown, kept = held_out(_demonstrations(problems, plans, stages, jobs))
    digest = hash_of((*shown, *kept))
    texts = DemonstrationTexts(
        suite=_suite(digest), train=tuple(shown), validation=tuple(kept), sha256=digest, largest=largest, **names
    )
    return TransitionTexts(texts.suite, {texts.domain: texts}) if kind is Transitions else texts


def _domain_of(problems: Sequence[Problem]) -> tuple[DomainText, int]:
    """The one domain of all problems, and the largest number of objects, the domain's constants among them."""
    first, largest = read_domain(problems[0].domain_pddl, problems[0].domain_source), 0
    for problem in problems:
        text = read_domain(problem.domain_pddl, problem.domain_source)
        if text.signature != first.signature:
            raise SuiteError(
                f"the problems are of several domains: {problem.name} {first.difference(text)}, other than "
                f"{problems[0].name}; learn from those of one"
            )
        objects = read_problem(problem.problem_pddl, problem.problem_source, text).objects
        largest = max(largest, len({each.name for each in (*text.constants, *objects)}))
    return first, largest


def _demonstrations(
    problems: Sequence[Problem], plans: Sequence[Plan] | None, stages: Sequence[Stage], jobs: int
) -> list[Demonstration]:
    given: list[Plan] = [None] * len(problems) if plans is None else list(plans)
    if len(given) != len(problems):
        raise SuiteError(f"{len(given)} plans are given for {len(problems)} problems; expected one of each, or none")
    missing = [problem for problem, plan in zip(problems, given, strict=True) if plan is None]
    found, errors = plans_of(missing, stages, jobs, "expert plans")
    for error in errors.values():
        raise error
    demonstrations = []
    for problem, plan in zip(problems, given, strict=True):
        known = found[problem.sha256].plan if plan is None else plan
        if known is not None:
            actions = parse_plan(known, f"plan of {problem.name}") if isinstance(known, str) else tuple(known)
            demonstrations.append(Demonstration(problem, actions))
    for part in held_out(demonstrations):
        if not any(each.plan for each in part):
            raise SuiteError(
                f"of {len(problems)} problems, those to train on or to validate on have no plan of at least one "
                "action; give more problems, their plans, or the experts more time"
            )
    return demonstrations


def _name(domain: DomainText) -> str:
    """The name of the built-in domain that serves a domain, or its own as far as it can name a folder."""
    known = serving(domain)
    return known.name if known else re.sub(r"[^a-z0-9_-]+", "-", domain.name.lower()).strip("-") or "domain"


def _suite(digest: str) -> str:
    return f"problems-{digest[:_HASH_LENGTH]}"
