(define (problem p) (:domain roads)
 (:objects s1 s2 - spot c - crew)
 (:init (at c s1) (safe s1 s2))
 (:goal (safe s1 s1)))
