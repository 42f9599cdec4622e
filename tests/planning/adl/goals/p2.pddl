(define (problem p) (:domain goals)
 (:objects b1 b2 - ball kitchen - room)
 (:init (at b1 hall) (at b2 hall) (robot kitchen) (red b2))
 (:goal (exists (?b - ball) (and (red ?b) (or (at ?b kitchen) (at ?b hall)) (robot hall)))))
