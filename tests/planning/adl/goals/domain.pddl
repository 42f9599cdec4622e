; STRIPS but for its goals: disjunctions, exists, forall, imply, negated conjunctions.
(define (domain goals)
  (:requirements :adl)

  (:types ball room)
  (:constants hall - room)
  (:predicates (at ?b - ball ?r - room) (carry ?b - ball) (robot ?r - room) (red ?b - ball))
  (:action walk :parameters (?a ?b - room) :precondition (and (robot ?a) (not (= ?a ?b)))
    :effect (and (robot ?b) (not (robot ?a))))
  (:action pick :parameters (?b - ball ?r - room) :precondition (and (at ?b ?r) (robot ?r))
    :effect (and (carry ?b) (not (at ?b ?r))))
  (:action drop :parameters (?b - ball ?r - room) :precondition (and (carry ?b) (robot ?r))
    :effect (and (at ?b ?r) (not (carry ?b)))))
