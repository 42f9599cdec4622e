"""What atoms and actions say in English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sgp.planning.pddl import Action, Atom, Literal


@dataclass(frozen=True)
class Words:
    """Templates of sentences: `atoms` by predicate, `actions` by action, of all vocabularies of a domain.

    `{0}` stands for the first object, `{1}` for the second; in an atom's template, `{not}` for what negates it.
    """

    atoms: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, said: Atom | Literal | Action) -> str:
        """What an atom, a literal or an action says; its PDDL where no template fits. Names are never read as one."""
        atom, positive = said if isinstance(said, Literal) else (said, True)
        name, objects = atom
        template = (self.actions if isinstance(said, Action) else self.atoms).get(name)
        if template is None or template.replace("{not}", "").count("{") != len(objects):
            return str(said)
        return template.format(*objects, **{"not": "" if positive else "not "})
