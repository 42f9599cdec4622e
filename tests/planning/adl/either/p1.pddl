(define (problem p) (:domain freight)
 (:objects t - truck a - plane c d - crate c1 c2 - city p1 p2 - port)
 (:init (at t c1) (at a p1) (at c c1) (at d p2) (road c1 p1) (road p2 c2))
 (:goal (and (at c p2) (in d a))))
