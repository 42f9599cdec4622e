(define (problem p) (:domain roads)
 (:objects s1 s2 s3 - spot c - crew)
 (:init (at c s1) (safe s1 s2) (safe s2 s3))
 (:goal (and (storm) (at c s3) (safe s1 s3) (not (safe s1 s2)))))
