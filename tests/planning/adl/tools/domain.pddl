; Existential preconditions, within a disjunction, too, and over a type without objects.
(define (domain tools)
  (:requirements :adl)

  (:types tool site ghost - object heavy light - tool)
  (:predicates (held ?t - tool) (fits ?t - tool ?s - site) (built ?s - site) (near ?s - site) (haunts ?g -
    ghost)
    (path ?a ?b - site))
  (:action build :parameters (?s - site)
    :precondition (and (near ?s) (exists (?t - tool) (and (held ?t) (fits ?t ?s)))
                       (or (built ?s) (exists (?g - ghost) (haunts ?g)) (exists (?t - light) (held ?t))))
    :effect (built ?s))
  (:action grab :parameters (?t - tool)
    :precondition (exists (?s - site ?x - (either heavy light)) (and (near ?s) (fits ?t ?s) (not (= ?x ?t))
    (held ?x)))
    :effect (held ?t))
  (:action walk :parameters (?a ?b - site) :precondition (and (near ?a) (or (path ?a ?b) (path ?b ?a)))
    :effect (and (near ?b) (not (near ?a)))))
