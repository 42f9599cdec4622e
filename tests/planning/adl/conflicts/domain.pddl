; One atom added and deleted by conditional effects: it is added; two parameters may be one object.
(define (domain conflicts)
  (:requirements :adl)

  (:predicates (p ?x) (q ?x) (r ?x) (link ?x ?y))
  (:action both :parameters (?x ?y)
    :precondition (link ?x ?y)
    :effect (and (when (p ?x) (not (r ?y))) (when (q ?x) (r ?y)) (when (p ?y) (and (not (p ?x)) (q ?y)))))
  (:action swap :parameters (?x)
    :precondition (or (r ?x) (q ?x))
    :effect (and (when (and (r ?x) (q ?x)) (and (p ?x) (not (r ?x)))) (not (q ?x)) (when (not (r ?x)) (q
    ?x)))))
