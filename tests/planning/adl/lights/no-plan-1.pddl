(define (problem p) (:domain lights)
 (:objects a b c - lamp)
 (:init (on a) (beside a b) (beside b c))
 (:goal (and (not (on a)) (not (on b)) (not (on c)))))
