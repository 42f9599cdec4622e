"""Simulation of plans on sets of atoms, by the declared actions without compilation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sgp.errors import expected_one_of
from sgp.planning.declarations import Action, AsWritten, Condition, Formula, Literal, Parameter, map_literals
from sgp.planning.pddl_syntax import shown
from sgp.planning.pddl_writing import condition_text

_LONGEST = 200  # characters of an action or condition in a message
_Binding = Mapping[str, str]  # objects by variables


@dataclass(frozen=True)
class Fault:
    """A sentence that describes why a plan is not valid.

    `fits` is false if an action is unknown or has a wrong number or type of objects.
    """

    reason: str
    fits: bool


def first_fault(
    written: AsWritten, plan: Sequence[Action], source: str = "plan", lines: Sequence[int] = ()
) -> Fault | None:
    """Return the first fault of a plan, None if it is valid; `lines` are its lines in the file `source`."""
    simulation = Simulation(written)
    misfits = {step: reason for step, action in enumerate(plan) if (reason := simulation.misfit(action))}
    for step, action in enumerate(plan):
        reason = misfits.get(step) or simulation.apply(action)
        if reason:
            place = f"{source}, line {lines[step]}" if lines else f"{source}, step {step + 1}"
            return Fault(f"{place}: {shown(str(action), _LONGEST)}: {reason}", not misfits)
    unmet = simulation.unmet(written.goal, {})
    return None if unmet is None else Fault(f"{source}: at its end the goal {unmet} is not met", True)


def pieces(written: AsWritten, plan: Sequence[Action], length: int) -> Iterator[tuple[AsWritten, Sequence[Action]]]:
    """Split a long plan into tasks with plans of at most `length` actions; all are valid iff the plan is valid.

    The goal of each piece but the last is exactly the initial state of the next one: it fixes every atom that was true
    so far. The judgement of all pieces by another validator is therefore independent of this simulation.
    """
    simulation = Simulation(written)
    for first in range(0, len(plan), length):
        actions, init, goal = plan[first : first + length], sorted(simulation.state), written.goal
        if first + length < len(plan):
            met = set(init)
            for action in actions:
                if simulation.apply(action):
                    break  # not applicable: this piece is not valid
                met |= simulation.state
            goal = Formula("and", tuple(Literal(atom, atom in simulation.state) for atom in sorted(met)))
        yield replace(written, problem=replace(written.problem, init=tuple(init)), goal=goal), actions


class Simulation:
    """A state of a problem, changed by declared actions."""

    def __init__(self, written: AsWritten):
        self._actions = written.actions
        self._types = written.domain.types_of(written.objects)
        self.state = set(written.problem.init)

    def misfit(self, action: Action) -> str:
        """Describe why an action does not match the domain and the problem's objects; "" if it does."""
        schema = self._actions.get(action.name)
        if schema is None:
            expected = expected_one_of(map(shown, self._actions), action.name)
            return f"the domain has no action '{shown(action.name)}'; {expected}"
        number = len(schema.parameters)
        if number != len(action.objects):
            objects = f"{number} object{'' if number == 1 else 's'}"
            return f"{shown(action.name)} takes {objects}, found {len(action.objects)}"
        for name, parameter in zip(action.objects, schema.parameters, strict=True):
            if name not in self._types:
                return f"the problem has no object '{shown(name)}'"
            if self._types[name].isdisjoint(parameter.types):
                wanted = " or ".join(map(shown, parameter.types))
                return f"'{shown(name)}' is no {wanted}, which {shown(action.name)} takes as {shown(parameter.name)}"
        return ""

    def apply(self, action: Action) -> str:
        """Apply a matching action; describe why it is not applicable, "" if it is."""
        schema = self._actions[action.name]
        binding = {parameter.name: name for parameter, name in zip(schema.parameters, action.objects, strict=True)}
        unmet = self.unmet(schema.precondition, binding)
        if unmet is not None:
            return f"its precondition {unmet} is not met"
        changes = [
            literal.renamed(inner)
            for effect in schema.effects
            for inner in self._bindings(effect.variables, binding)
            if self._holds(effect.condition, inner)
            for literal in effect.literals
        ]
        self.state.difference_update(atom for atom, positive in changes if not positive)
        self.state.update(atom for atom, positive in changes if positive)
        return ""

    def unmet(self, condition: Condition, binding: _Binding) -> str | None:
        """Return the first part of a condition that is not satisfied, as PDDL; None if all are."""
        parts = condition.parts if isinstance(condition, Formula) and condition.kind == "and" else (condition,)
        for part in parts:
            if not self._holds(part, binding):
                return shown(condition_text(map_literals(part, lambda literal: literal.renamed(binding))), _LONGEST)
        return None

    def _holds(self, condition: Condition, binding: _Binding) -> bool:
        if isinstance(condition, Literal):
            atom = condition.renamed(binding).atom
            true = atom.objects[0] == atom.objects[1] if atom.predicate == "=" else atom in self.state
            return true == condition.positive
        combine = all if condition.kind in ("and", "forall") else any
        bindings = self._bindings(condition.variables, binding)
        return combine(self._holds(part, inner) for inner in bindings for part in condition.parts)

    def _bindings(self, variables: Sequence[Parameter], binding: _Binding) -> Iterator[_Binding]:
        """Yield the binding extended by every choice of objects for further variables."""
        choices = [
            [name for name, types in self._types.items() if not types.isdisjoint(variable.types)]
            for variable in variables
        ]
        for objects in product(*choices):
            yield {**binding, **dict(zip((name for name, _ in variables), objects, strict=True))}
