"""What atoms and actions say in English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sgp.planning.pddl import Action, Atom, DomainText, Literal


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
        if template is None or not _fits(template, len(objects)):
            return str(said)
        return template.format(*objects, **{"not": "" if positive else "not "})

    def __or__(self, more: Words) -> Words:
        """These templates and more of them."""
        return Words({**self.atoms, **more.atoms}, {**self.actions, **more.actions})

    def lacking(self, text: DomainText) -> list[str]:
        """The predicates and actions of a domain for which no template fits."""
        kinds = zip((self.atoms, self.actions), text.signature, strict=True)
        return [name for known, names in kinds for name, arity in names if not _fits(known.get(name), arity)]


def _fits(template: str | None, arity: int) -> bool:
    return template is not None and template.replace("{not}", "").count("{") == arity
