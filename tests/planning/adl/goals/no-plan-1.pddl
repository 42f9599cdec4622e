(define (problem p) (:domain goals)
 (:objects b1 b2 - ball kitchen - room)
 (:init (at b1 hall) (at b2 hall) (robot kitchen) (red b2))
 (:goal (or (and (carry b1) (at b1 hall)) (and (robot hall) (robot kitchen)))))
