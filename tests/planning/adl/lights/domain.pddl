; Lamps that toggle each other: when, with a condition and with its negation.
(define (domain lights)
  (:requirements :adl)

  (:types lamp)
  (:predicates (on ?x - lamp) (beside ?x ?y - lamp) (dark))
  (:action press :parameters (?x ?y - lamp)
    :precondition (beside ?x ?y)
    :effect (and (when (on ?x) (not (on ?x))) (when (not (on ?x)) (on ?x))
                 (when (on ?y) (not (on ?y))) (when (not (on ?y)) (on ?y)))))
