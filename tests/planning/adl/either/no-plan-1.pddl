(define (problem p) (:domain freight)
 (:objects t - truck c - crate c1 c2 - city p1 - port)
 (:init (at t c1) (at c c1) (road c1 p1))
 (:goal (at c c2)))
