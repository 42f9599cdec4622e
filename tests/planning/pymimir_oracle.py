"""Applicable actions according to pymimir's own generator."""

from __future__ import annotations

from pymimir.advanced import search

from sgp.planning.native import native_problem


class PymimirOracle:
    """A problem as read by pymimir, with all of its initial atoms."""

    def __init__(self, problem):
        self.domain, text = problem.read()
        self.native = native_problem(problem, self.domain, text)
        options = search.LiftedOptions(search.LiftedKPKCOptions(search.SymmetryPruning.OFF))
        self._context = search.SearchContext.create(self.native, search.SearchContextOptions(options))
        self._generator = self._context.get_applicable_action_generator()
        self._predicates = {each.get_name(): each for each in self.native.get_domain().get_fluent_predicates()}
        self._objects = {each.get_name(): each for each in self.native.get_problem_and_domain_objects()}
        self._places = {
            "schemas": {name: place for place, name in enumerate(self.domain.schemas)},
            "objects": {each.name: place for place, each in enumerate((*self.domain.constants, *text.objects))},
        }

    @property
    def static_goal_holds(self):
        return search.ProblemGoalStrategy.create(self.native).test_static_goal()

    def applicable(self, task, state):
        """Return the actions applicable in a state of a task, in the order of the PDDL's actions and objects."""
        atoms = map(task.fluent, task.fluents(state))
        native = [
            self.native.get_or_create_ground_atom(self._predicates[name], [self._objects[each] for each in objects])
            for name, objects in atoms
        ]
        same, _ = self._context.get_state_repository().get_or_create_state(native, [])
        found = []
        for action in self._generator.generate_applicable_actions(same):
            name, objects = action.get_action().get_name(), [each.get_name() for each in action.get_objects()]
            place = self._places["schemas"][name], [self._places["objects"][each] for each in objects]
            found.append((place, f"({' '.join([name, *objects])})"))
        return [text for _, text in sorted(found)]
