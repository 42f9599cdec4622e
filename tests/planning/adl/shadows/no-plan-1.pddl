(define (problem p) (:domain shadows)
 (:objects a)
 (:init (p a))
 (:goal (done a)))
