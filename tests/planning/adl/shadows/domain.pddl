; Quantified variables of one name within each other; negated quantifiers.
(define (domain shadows)
  (:requirements :adl)

  (:predicates (p ?x) (q ?x ?y) (done ?x))
  (:action tick :parameters (?x)
    :precondition (and (p ?x) (exists (?x) (q ?x ?x)) (not (forall (?y) (q ?x ?y))))
    :effect (and (forall (?x) (when (exists (?y) (q ?x ?y)) (done ?x))) (not (p ?x))))
  (:action mark :parameters (?x ?y) :precondition (not (or (q ?x ?y) (= ?x ?y))) :effect (q ?x ?y))
  (:action loop :parameters (?x) :precondition (imply (done ?x) (p ?x)) :effect (and (q ?x ?x) (not (done
    ?x)))))
