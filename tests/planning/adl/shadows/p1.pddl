(define (problem p) (:domain shadows)
 (:objects a b c)
 (:init (p a) (p b) (q a b))
 (:goal (and (done a) (not (p b)))))
