; What is in the briefcase goes where it goes: forall and when in an effect.
(define (domain briefcase)
  (:requirements :adl)

  (:types portable place)
  (:predicates (at ?x - portable ?l - place) (case-at ?l - place) (in ?x - portable))
  (:action move :parameters (?m ?l - place)
    :precondition (and (case-at ?m) (not (= ?m ?l)))
    :effect (and (case-at ?l) (not (case-at ?m))
                 (forall (?x - portable) (when (in ?x) (and (at ?x ?l) (not (at ?x ?m)))))))
  (:action put-in :parameters (?x - portable ?l - place)
    :precondition (and (at ?x ?l) (case-at ?l) (not (in ?x))) :effect (in ?x))
  (:action take-out :parameters (?x - portable) :precondition (in ?x) :effect (not (in ?x))))
