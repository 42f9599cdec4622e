"""English sentences for atoms and actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sgp.planning.pddl import Action, Atom, DomainText, Literal


@dataclass(frozen=True)
class Words:
    """Sentence templates: `atoms` by predicate, `actions` by action, of all vocabularies of a domain.

    `{0}` is the first object, `{1}` the second. In an atom's template, `{not}` is the negation.
    """

    atoms: Mapping[str, str] = field(default_factory=dict)
    actions: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, said: Atom | Literal | Action) -> str:
        """Describe an atom, literal or action in English; as PDDL if no template fits. Names are never templates."""
        atom, positive = said if isinstance(said, Literal) else (said, True)
        name, objects = atom
        template = (self.actions if isinstance(said, Action) else self.atoms).get(name)
        if template is None or not _fits(template, len(objects)):
            return str(said)
        return template.format(*objects, **{"not": "" if positive else "not "})

    def __or__(self, more: Words) -> Words:
        """Merge two sets of templates."""
        return Words({**self.atoms, **more.atoms}, {**self.actions, **more.actions})

    def lacking(self, text: DomainText) -> list[str]:
        """Return a domain's predicates and actions without a fitting template."""
        kinds = zip((self.atoms, self.actions), text.signature, strict=True)
        return [name for known, names in kinds for name, arity in names if not _fits(known.get(name), arity)]


def _fits(template: str | None, arity: int) -> bool:
    return template is not None and template.replace("{not}", "").count("{") == arity
