(define (problem p) (:domain briefcase)
 (:objects b - portable home work - place)
 (:init (at b home) (case-at home) (in b))
 (:goal (and (at b work) (in b) (case-at home))))
