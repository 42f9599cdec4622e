(define (domain blocksworld)
  (:requirements :strips)
  (:predicates (on ?x ?y) (on-table ?x) (clear ?x) (arm-empty) (holding ?x))
  (:action pickup
    :parameters (?ob)
    :precondition (and (clear ?ob) (on-table ?ob) (arm-empty))
    :effect (and (holding ?ob) (not (on-table ?ob)) (not (clear ?ob)) (not (arm-empty))))
  (:action putdown
    :parameters (?ob)
    :precondition (holding ?ob)
    :effect (and (on-table ?ob) (clear ?ob) (arm-empty) (not (holding ?ob))))
  (:action stack
    :parameters (?ob ?underob)
    :precondition (and (holding ?ob) (clear ?underob))
    :effect (and (on ?ob ?underob) (clear ?ob) (arm-empty) (not (holding ?ob)) (not (clear ?underob))))
  (:action unstack
    :parameters (?ob ?underob)
    :precondition (and (on ?ob ?underob) (clear ?ob) (arm-empty))
    :effect (and (holding ?ob) (clear ?underob) (not (on ?ob ?underob)) (not (clear ?ob)) (not (arm-empty)))))
