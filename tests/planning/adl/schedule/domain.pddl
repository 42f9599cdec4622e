; A workshop: conditional effects under equality and constants, a disjunction over conjunctions.
(define (domain workshop)
  (:requirements :adl)

  (:types part colour shape)
  (:constants cylindrical plain - shape)
  (:predicates (painted ?p - part ?c - colour) (shaped ?p - part ?s - shape) (hot ?p - part) (smooth ?p -
    part)
    (busy) (has-paint ?c - colour))
  (:action lathe :parameters (?p - part ?s - shape ?c - colour)
    :precondition (and (not (busy)) (shaped ?p ?s) (painted ?p ?c))
    :effect (and (busy) (shaped ?p cylindrical) (when (not (= ?s cylindrical)) (not (shaped ?p ?s)))
                 (when (smooth ?p) (not (smooth ?p))) (not (painted ?p ?c))))
  (:action roll :parameters (?p - part)
    :precondition (not (busy))
    :effect (and (busy) (hot ?p) (when (not (shaped ?p cylindrical)) (and (shaped ?p cylindrical) (smooth
    ?p)))))
  (:action paint :parameters (?p - part ?c - colour)
    :precondition (and (not (busy)) (not (hot ?p)) (has-paint ?c))
    :effect (and (busy) (painted ?p ?c)))
  (:action polish :parameters (?p - part)
    :precondition (or (and (not (busy)) (not (hot ?p))) (smooth ?p))
    :effect (and (smooth ?p) (when (hot ?p) (not (hot ?p)))))
  (:action wait :parameters () :precondition (busy) :effect (not (busy))))
