(define (problem p) (:domain lights)
 (:objects a b c - lamp)
 (:init (on a) (on c) (beside a b) (beside b c))
 (:goal (forall (?x - lamp) (not (on ?x)))))
