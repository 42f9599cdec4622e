(define (domain walking)
  (:requirements :strips)
  (:predicates (at ?r) (door ?a ?b) (fresh) (tired))
  (:action walk
    :parameters (?a ?b)
    :precondition (and (at ?a) (door ?a ?b) (fresh))
    :effect (and (at ?b) (tired) (not (at ?a)) (not (fresh))))
  (:action rest
    :parameters ()
    :precondition (tired)
    :effect (and (fresh) (not (tired)))))
