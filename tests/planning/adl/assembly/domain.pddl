; A conditional effect whose condition is quantified.
(define (domain assembly)
  (:requirements :adl)

  (:types part)
  (:predicates (of ?a ?b - part) (before ?a ?b - part) (ready ?a - part) (built-in ?a ?b - part) (complete ?a
    - part))
  (:action fit :parameters (?a ?b - part)
    :precondition (and (of ?a ?b) (ready ?a) (forall (?c - part) (imply (and (of ?c ?b) (before ?c ?a))
    (built-in ?c ?b))))
    :effect (and (built-in ?a ?b) (not (ready ?a))
      (when (forall (?c - part) (or (not (of ?c ?b)) (= ?c ?a) (built-in ?c ?b))) (and (complete ?b) (ready
    ?b)))))
  (:action remove :parameters (?a ?b - part)
    :precondition (built-in ?a ?b) :effect (and (not (built-in ?a ?b)) (ready ?a) (not (complete ?b)) (not
    (ready ?b)))))
