"""Problems of our own: suites from a fixed seed, folders of problems, and canonical forms (by igraph's BLISS)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import igraph
import numpy as np

from sgp.datasets.store import home
from sgp.datasets.suite import (
    HUGE_SUITE,
    TRACK_SUITE,
    TRAIN,
    Entry,
    SeededSplits,
    Suite,
    SuiteDomain,
    drawn,
    huge_sizes,
    list_suites,
    load_suite,
    number_of,
    sha256_of,
    track_sizes,
    write_manifest,
)
from sgp.domains import all_domains, get_domain, serving
from sgp.domains.domain import Domain
from sgp.errors import SuiteError
from sgp.files import write_text
from sgp.planning.pddl import DomainText, Literal, Problem, ProblemText, format_problem, read_domain
from sgp.planning.task import Task, checked
from sgp.progress import track


def with_names(task: Task, names: Mapping[str, str], order: Sequence[int] | None = None) -> Problem:
    """Rename all objects but constants, by a map of old to new names, and optionally reorder them."""
    text = task.text
    objects = [parameter._replace(name=names[parameter.name]) for parameter in text.objects]
    renamed = replace(
        text,
        objects=tuple(objects if order is None else (objects[place] for place in order)),
        init=tuple(Literal(atom, True).renamed(names).atom for atom in text.init),
        goal=tuple(literal.renamed(names) for literal in text.goal),
    )
    return Problem("renamed", task.problem.domain_pddl, format_problem(renamed))


def canonical_form(task: Task) -> str:
    """Return a hash that is equal for two problems of a domain iff they are equal up to renaming of objects."""
    return form_of(task.domain_text, task.text)


class Distinct:
    """Index of a domain's problems by canonical form, which is computed only if cheaper properties are equal."""

    def __init__(self, domain: DomainText):
        self._domain = domain
        self._lone: dict[Hashable, tuple[str, ProblemText]] = {}  # first problem of each outline
        self._names: dict[str, str] = {}  # by form

    def first(self, name: str, problem: ProblemText) -> str:
        """Return the name of the first problem equal up to renaming of objects, which may be this problem."""
        outline = _outline(problem)
        if outline not in self._lone:
            self._lone[outline] = name, problem
            return name
        before, first = self._lone[outline]
        self._names.setdefault(form_of(self._domain, first), before)
        return self._names.setdefault(form_of(self._domain, problem), name)


def suite_of(problems: Sequence[Problem]) -> Suite:
    """Return problems of one domain as a suite in memory, with the split `problems`; a hash names it."""
    problems = list(problems) if isinstance(problems, Iterable) else [problems]
    if not problems or not all(isinstance(each, Problem) for each in problems):
        raise SuiteError(f"the problems are {problems!r:.80}; expected a list of sgp.Problem, or a suite or its name")
    first = problems[0]
    text = read_domain(first.domain_pddl, first.domain_source)
    distinct, entries = Distinct(text), dict[str, Entry]()
    for number, problem in enumerate(problems, start=1):
        if problem.domain_pddl != first.domain_pddl:
            raise SuiteError(f"{problem.name} has another domain file than {first.name}; evaluate each domain alone")
        _, declared = checked(problem)
        name = problem.name if problem.name not in entries else f"{problem.name}-{number}"
        like = distinct.first(name, declared)
        size = len(text.constants) + len(declared.objects)
        entries[name] = Entry(name, size, sha256_of(problem.problem_pddl), "" if like == name else like)
    digest = sha256("".join(problem.sha256 for problem in problems).encode()).hexdigest()[:12]
    name, built_in = f"problems-{digest}", serving(text)
    folder = home() / "suites" / name
    domain = SuiteDomain(
        text.name,
        built_in.name if built_in else "",
        sha256_of(first.domain_pddl),
        {"problems": tuple(entries.values())},
    )
    suite = Suite(name, folder, home() / "experts" / name, home() / "baselines" / name, "given", {text.name: domain})
    texts = {
        folder / text.name / "problems" / f"{name}.pddl": problem.problem_pddl
        for name, problem in zip(entries, problems, strict=True)
    }
    suite._texts.update({folder / text.name / "domain.pddl": first.domain_pddl, **texts})
    return suite


def _outline(problem: ProblemText) -> Hashable:
    """Cheap properties that equal problems share."""
    types = Counter(tuple(sorted(object_.types)) for object_ in problem.objects)
    init = Counter(atom.predicate for atom in set(problem.init))
    goal = Counter((literal.atom.predicate, literal.positive) for literal in set(problem.goal))
    return tuple(frozenset(each.items()) for each in (types, init, goal))


def form_of(domain: DomainText, problem: ProblemText) -> str:
    """Return a hash: equal for two problems iff they are equal up to renaming of objects other than constants."""
    colours: list[str] = []
    edges: list[tuple[int, int]] = []

    def node(colour: str) -> int:
        colours.append(colour)
        return len(colours) - 1

    objects = {object_.name: node(f"constant {object_.name}") for object_ in domain.constants}
    objects |= {object_.name: node(f"object {sorted(object_.types)}") for object_ in problem.objects}
    facts = [(f"init {atom.predicate}", atom) for atom in set(problem.init)]
    facts += [(f"goal {literal.atom.predicate} {literal.positive}", literal.atom) for literal in set(problem.goal)]
    for colour, atom in facts:
        fact = node(colour)
        for position, name in enumerate(atom.objects):
            argument = node(f"argument {position}")
            edges += [(fact, argument), (argument, objects[name])]
    known, numbers = np.unique(colours, return_inverse=True)
    graph = igraph.Graph(len(colours), edges, vertex_attrs={"colour": numbers.tolist()})
    canonical = graph.permute_vertices(graph.canonical_permutation(color=numbers.tolist()))
    order = sorted(tuple(sorted(edge)) for edge in canonical.get_edgelist())
    return sha256(repr((known.tolist(), canonical.vs["colour"], order)).encode()).hexdigest()


SUITE_SEED = 20261121
SCALING_SUITE = "scaling"  # problems of the sizes that the domain files name under `scaling`
_SEEDED = {TRACK_SUITE: track_sizes, HUGE_SUITE: huge_sizes}  # suites without files: sizes of a domain's splits
_PER_SIZE = {"train": 10, "validation": 4}  # dynamic validation, section 4, has 100 and 4
_ATTEMPTS = 50  # draws of one problem before a renamed duplicate within its split is accepted


def generate_suite(name: str, folder: Path, seed: int = SUITE_SEED) -> Suite:
    """Write the suite `name` as the domain files describe it. Every problem has a random stream of its own.

    A bundled suite is generated as it was: manifests of older suites have no `named_stream`, because their random
    streams did not depend on the suite's name (equal split, size and number gave equal problems in two suites).

    No two problems of a domain are equal up to renaming of objects, except within a split whose arguments allow too few
    problems. Raises SuiteError if two splits would share a problem.
    """
    domains = [domain for domain in all_domains() if _splits(domain, name)]
    if not domains:
        raise SuiteError(f"no domain describes a suite '{name}'; its splits belong into the files of sgp/domains")
    named = load_suite(name).named_stream if name in list_suites() else True
    stream = seed, *((number_of(name),) if named else ())
    seeded = None
    if name in _SEEDED:
        splits = dict.fromkeys(split for domain in domains for split in _SEEDED[name](domain) if split != TRAIN)
        seeded = SeededSplits(name, seed, tuple(splits), np.__version__)
    generated = {
        domain.name: _generate_domain(name, domain, folder / domain.name, stream, seeded) for domain in domains
    }
    origin = f"generated by 'sgp generate --suite {name}'"
    suite = Suite(folder.name, folder, folder / "experts", folder / "baselines", origin, generated, seed, named, seeded)
    write_manifest(suite)
    return suite


def _splits(domain: Domain, suite: str) -> Mapping[str, Sequence[Mapping[str, int] | int]]:
    """The problems of a suite's splits: the generator's arguments, or a number of objects for which they are drawn."""
    if suite == SCALING_SUITE and domain.scaling is not None:
        sizes = {"train": domain.scaling.train, "validation": domain.scaling.validation}
        return {split: [size for size in found for _ in range(_PER_SIZE[split])] for split, found in sizes.items()}
    if suite in _SEEDED:
        return _SEEDED[suite](domain)
    return domain.splits.get(suite, {})


def _generate_domain(
    suite: str, domain: Domain, folder: Path, stream: tuple[int, ...], seeded: SeededSplits | None
) -> SuiteDomain:
    pddl = domain.pddl
    write_text(folder / "domain.pddl", pddl)
    seen: dict[str, tuple[str, str]] = {}  # canonical forms; the split and the name of the first problem that has it
    splits = {}
    for split, arguments in _splits(domain, suite).items():
        if seeded is not None and split in seeded.splits:
            continue
        entries = []
        digits = len(str(len(arguments)))
        for index, chosen in enumerate(track(arguments, f"{domain.name} {split}"), start=1):
            name = f"p{index:0{digits}d}"
            own = *stream, number_of(domain.name), number_of(split), index
            text, task = _distinct(suite, domain, chosen, seen, split, own)
            form = canonical_form(task)
            if isinstance(chosen, int) and form in seen:
                continue  # of a size with few problems; duplicates are discarded (dynamic validation, section 4)
            _, first = seen.setdefault(form, (split, name))
            write_text(folder / split / f"{name}.pddl", text)
            entries.append(Entry(name, task.size, sha256_of(text), "" if first == name else first))
        splits[split] = tuple(entries)
    if seeded is not None:
        splits |= _by_seed(domain, seeded, splits)
    return SuiteDomain(domain.name, domain.name, sha256_of(pddl), splits)


def _by_seed(
    domain: Domain, seeded: SeededSplits, stored: Mapping[str, Sequence[Entry]]
) -> dict[str, tuple[Entry, ...]]:
    """The splits without files: their problems are drawn only for their hashes."""
    constants = len(domain.texts[next(iter(domain.models))].constants)
    sizes = {split: found for split, found in _SEEDED[seeded.suite](domain).items() if split in seeded.splits}
    every = [size for found in sizes.values() for size in found]
    largest = max((entry.size for entries in stored.values() for entry in entries), default=0) - constants
    if seeded.suite != HUGE_SUITE and (len(set(every)) < len(every) or min(every) <= largest):
        raise SuiteError(
            f"{domain.name}: problems of suite {seeded.suite} without files have {every} objects; expected different "
            f"sizes above {largest}, that of the largest with a file: nothing else keeps them apart"
        )
    splits = {}
    for split, found in sizes.items():
        entries, digits = [], len(str(len(found)))
        for place, size in enumerate(track(found, f"{domain.name} {split}", len(found)), start=1):
            text = seeded.draw(domain, split, place, size)
            entries.append(Entry(f"p{place:0{digits}d}", size + constants, sha256_of(text)))
        splits[split] = tuple(entries)
    return splits


def _distinct(
    suite: str,
    domain: Domain,
    arguments: Mapping[str, int] | int,
    seen: Mapping[str, tuple[str, str]],
    split: str,
    stream: Iterable[int],
) -> tuple[str, Task]:
    """A problem unlike those before, or one like another of its own split if there seems to be no other."""
    earlier: set[str] = set()
    while len(earlier) < _ATTEMPTS:
        text = drawn(suite, domain, arguments, (*stream, len(earlier)))
        task = Task(Problem("generated", domain.pddl, text))
        found = seen.get(canonical_form(task))
        if found is None:
            return text, task
        twin, _ = found
        if text in earlier:
            break
        earlier.add(text)
    if twin != split:
        raise SuiteError(
            f"{domain.name} {split}: {len(earlier)} draws with {arguments} only gave problems of split {twin}; "
            "choose other sizes"
        )
    return text, task


def distinct_problems(
    domain: Domain, size: int, count: int, stream: tuple[int, str], tracked: bool = False
) -> list[str]:
    """Problems of `size` objects, no two equal up to renaming of objects."""
    seed, name = stream
    found: dict[str, str] = {}
    for draw in range(10 * count):
        rng = np.random.default_rng([seed, number_of(name), number_of(domain.name), draw])
        text = domain.generate_scaled(rng, size, tracked)
        found.setdefault(canonical_form(Task(Problem("drawn", domain.pddl, text))), text)
        if len(found) == count:
            break
    return list(found.values())


def generate_problems(
    domain: Domain | str, size: int, count: int, seed: int, folder: Path | str, model: str = ""
) -> list[Path]:
    """Write the domain, in the words of a model (default: the first), and `count` problems of `size` objects."""
    domain, folder = get_domain(domain) if isinstance(domain, str) else domain, Path(folder)
    model = model or next(iter(domain.models))
    domain.check_size(size)  # before anything is written
    domain.translated("", model)
    write_text(folder / "domain.pddl", domain.models[model])
    written = []
    for index in track(range(1, count + 1), f"{domain.name}, {size} objects"):
        rng = np.random.default_rng([seed, number_of(domain.name), size, index])
        path = folder / f"{domain.name}-{size}-{seed}-{index}.pddl"
        write_text(path, domain.translated(domain.generate_size(rng, size), model))
        written.append(path)
    return written
