; A conditional effect for all of two variables; an implication in a precondition.
(define (domain roads)
  (:requirements :adl)

  (:types spot crew)
  (:predicates (safe ?a ?b - spot) (at ?c - crew ?s - spot) (storm))
  (:action repair :parameters (?c - crew ?a ?b - spot)
    :precondition (and (at ?c ?a) (not (safe ?a ?b)) (not (= ?a ?b)))
    :effect (and (safe ?a ?b) (safe ?b ?a)))
  (:action walk :parameters (?c - crew ?a ?b - spot)
    :precondition (and (at ?c ?a) (imply (storm) (safe ?a ?b))) :effect (and (at ?c ?b) (not (at ?c ?a))))
  (:action storm-comes :parameters (?b - spot)
    :precondition (not (storm))
    :effect (and (storm) (forall (?a - spot ?c - crew) (when (and (safe ?a ?b) (not (at ?c ?b))) (not (safe
    ?a ?b))))))
  (:action storm-goes :parameters () :precondition (storm) :effect (not (storm))))
