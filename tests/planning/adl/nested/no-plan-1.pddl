(define (problem p) (:domain nested)
 (:objects )
 (:init (d))
 (:goal (and (e) (not (d)))))
