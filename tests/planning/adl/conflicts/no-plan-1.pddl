(define (problem p) (:domain conflicts)
 (:objects a b)
 (:init (p a) (link a b))
 (:goal (q a)))
