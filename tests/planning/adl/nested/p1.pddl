(define (problem p) (:domain nested)
 (:objects )
 (:init (d))
 (:goal (e)))
