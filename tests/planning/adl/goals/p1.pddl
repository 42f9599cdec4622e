(define (problem p) (:domain goals)
 (:objects b1 b2 - ball kitchen - room)
 (:init (at b1 hall) (at b2 hall) (robot kitchen) (red b2))
 (:goal (or (carry b1) (and (at b2 kitchen) (robot hall)))))
