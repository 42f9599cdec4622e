; Negated disjunctions, a precondition that always holds, an implication as a condition of an effect.
(define (domain bridges)
  (:requirements :adl)

  (:types node)
  (:predicates (edge ?a ?b - node) (token ?a - node) (burnt ?a ?b - node) (free))
  (:action cross :parameters (?a ?b - node)
    :precondition (and (token ?a) (or (edge ?a ?b) (edge ?b ?a)) (not (or (burnt ?a ?b) (burnt ?b ?a))))
    :effect (and (token ?b) (not (token ?a)) (burnt ?a ?b) (when (imply (free) (burnt ?b ?a)) (not (free)))))
  (:action reset :parameters () :precondition (not (and (free) (not (free)))) :effect (free)))
