; Action costs of a function beside disjunctions, existential preconditions and conditional effects.
(define (domain tolls)
  (:requirements :adl)

  (:types place)
  (:predicates (at ?p - place) (road ?a ?b - place) (ferry ?a ?b - place) (ticket) (seen ?p - place))
  (:functions (total-cost) - number (length ?a ?b - place) - number)
  (:action go :parameters (?a ?b - place)
    :precondition (and (at ?a) (or (road ?a ?b) (road ?b ?a) (and (ticket) (ferry ?a ?b))))
    :effect (and (at ?b) (not (at ?a)) (when (not (seen ?b)) (seen ?b)) (increase (total-cost) (length ?a
    ?b))))
  (:action buy :parameters () :precondition (not (ticket)) :effect (and (ticket) (increase (total-cost) 3)))
  (:action look :parameters (?a - place)
    :precondition (exists (?b - place) (and (at ?b) (or (road ?a ?b) (ferry ?b ?a)))) :effect (seen ?a)))
