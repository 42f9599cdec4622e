; Orders and products: forall and imply in preconditions and goals.
(define (domain stacks)
  (:requirements :adl)

  (:types order product count)
  (:predicates (includes ?o - order ?p - product) (waiting ?o - order) (started ?o - order) (shipped ?o -
    order)
    (made ?p - product) (open ?n - count) (next ?a ?b - count))
  (:action start :parameters (?o - order ?n ?m - count)
    :precondition (and (waiting ?o) (open ?n) (next ?m ?n))
    :effect (and (not (waiting ?o)) (started ?o) (not (open ?n)) (open ?m)))
  (:action make :parameters (?p - product)
    :precondition (and (not (made ?p)) (forall (?o - order) (imply (includes ?o ?p) (started ?o))))
    :effect (made ?p))
  (:action ship :parameters (?o - order ?n ?m - count)
    :precondition (and (started ?o) (open ?n) (next ?n ?m) (forall (?p - product) (imply (includes ?o ?p)
    (made ?p))))
    :effect (and (not (started ?o)) (shipped ?o) (not (open ?n)) (open ?m))))
