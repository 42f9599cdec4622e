"""What is wrong with a plan, by the actions as the files declare them: on sets of atoms, nothing compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from sgp.errors import expected_one_of
from sgp.planning.adl_objects import renamed
from sgp.planning.declarations import Action, AsWritten, Condition, Formula, Literal, Parameter
from sgp.planning.pddl_conditions import mapped
from sgp.planning.pddl_syntax import shown
from sgp.planning.pddl_writing import condition_text

_LONGEST = 200  # characters of an action or condition in a sentence
_Binding = Mapping[str, str]  # objects by variables


@dataclass(frozen=True)
class Fault:
    """What is wrong with a plan, in a sentence.

    `fits` says whether all its actions are of the domain, with objects of the problem, in number and type as declared.
    """

    reason: str
    fits: bool


def first_fault(
    written: AsWritten, plan: Sequence[Action], source: str = "plan", lines: Sequence[int] = ()
) -> Fault | None:
    """The first fault of a plan, None where it is valid; `lines` are those of its actions in the file `source`."""
    simulation = Simulation(written)
    misfits = {step: words for step, action in enumerate(plan) if (words := simulation.misfit(action))}
    for step, action in enumerate(plan):
        words = misfits.get(step) or simulation.apply(action)
        if words:
            place = f"{source}, line {lines[step]}" if lines else f"{source}, step {step + 1}"
            return Fault(f"{place}: {shown(str(action), _LONGEST)}: {words}", not misfits)
    unmet = simulation.unmet(written.goal, {})
    return None if unmet is None else Fault(f"{source}: at its end the goal {unmet} is not met", True)


class Simulation:
    """A state of a problem, changed by actions of its domain's file."""

    def __init__(self, written: AsWritten):
        self._written = written
        self._state = set(written.problem.init)
        above = {types: frozenset().union(*map(written.domain.supertypes, types)) for _, types in written.objects}
        self._kinds = {name: above[types] for name, types in written.objects}

    def misfit(self, action: Action) -> str:
        """Why an action is none of the domain with objects of the problem; "" where it is one."""
        schema = self._written.actions.get(action.name)
        if schema is None:
            known = self._written.actions
            return f"the domain has no action '{shown(action.name)}'; {expected_one_of(map(shown, known), action.name)}"
        expected, found = len(schema.parameters), len(action.objects)
        if expected != found:
            return f"{shown(action.name)} takes {expected} object{'' if expected == 1 else 's'}, found {found}"
        for name, parameter in zip(action.objects, schema.parameters, strict=True):
            if name not in self._kinds:
                return f"the problem has no object '{shown(name)}'"
            if self._kinds[name].isdisjoint(parameter.types):
                wanted = " or ".join(map(shown, parameter.types))
                return f"'{shown(name)}' is no {wanted}, which {shown(action.name)} takes as {shown(parameter.name)}"
        return ""

    def apply(self, action: Action) -> str:
        """Changes the state by an action that fits; why it is not applicable, "" where it is."""
        schema = self._written.actions[action.name]
        binding = dict(zip((each.name for each in schema.parameters), action.objects, strict=True))
        unmet = self.unmet(schema.precondition, binding)
        if unmet is not None:
            return f"its precondition {unmet} is not met"
        changed = [
            renamed(literal, each)
            for effect in schema.effects
            for each in self._bindings(effect.variables, binding)
            if self._holds(effect.condition, each)
            for literal in effect.literals
        ]
        self._state.difference_update(atom for atom, positive in changed if not positive)
        self._state.update(atom for atom, positive in changed if positive)
        return ""

    def unmet(self, condition: Condition, binding: _Binding) -> str | None:
        """The first part of a condition that does not hold, as PDDL; None where all do."""
        parts = condition.parts if isinstance(condition, Formula) and condition.kind == "and" else (condition,)
        for part in parts:
            if not self._holds(part, binding):
                return shown(condition_text(mapped(part, partial(renamed, binding=binding))), _LONGEST)
        return None

    def _holds(self, condition: Condition, binding: _Binding) -> bool:
        if isinstance(condition, Literal):
            atom = renamed(condition, binding).atom
            true = atom.objects[0] == atom.objects[1] if atom.predicate == "=" else atom in self._state
            return true == condition.positive
        join = all if condition.kind in ("and", "forall") else any
        return join(
            self._holds(part, each) for each in self._bindings(condition.variables, binding) for part in condition.parts
        )

    def _bindings(self, variables: Sequence[Parameter], binding: _Binding) -> Iterator[_Binding]:
        """A binding with every choice of objects for further variables."""
        names = [each.name for each in variables]
        for objects in product(*(self._of(each.types) for each in variables)):
            yield {**binding, **dict(zip(names, objects, strict=True))} if names else binding

    def _of(self, types: Iterable[str]) -> list[str]:
        wanted = set(types)
        return [name for name, kinds in self._kinds.items() if not kinds.isdisjoint(wanted)]
