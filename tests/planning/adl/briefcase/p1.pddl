(define (problem p) (:domain briefcase)
 (:objects b d - portable home work - place)
 (:init (at b home) (at d home) (case-at home))
 (:goal (and (at b work) (at d home) (case-at work))))
