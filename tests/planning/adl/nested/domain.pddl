; Formulas without objects, nested; an effect that is added and deleted.
(define (domain nested)
  (:requirements :adl)

  (:predicates (a) (b) (c) (d) (e))
  (:action one :parameters () :precondition (and) :effect (and (when (or (a) (not (b))) (c)) (when (and (d)
    (or (a) (not (b)))) (not (c)))))
  (:action two :parameters () :precondition (not (and (a) (or (b) (not (c))))) :effect (and (a) (when (c)
    (b))))
  (:action three :parameters () :precondition (imply (imply (a) (b)) (and (c) (or (a) (d)))) :effect (and (d)
    (not (a))))
  (:action four :parameters () :precondition (and (d) (c) (b)) :effect (and (e) (when (a) (not (e))))))
