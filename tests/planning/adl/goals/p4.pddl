(define (problem p) (:domain goals)
 (:objects b1 b2 - ball kitchen - room)
 (:init (at b1 hall) (at b2 hall) (robot kitchen) (red b2))
 (:goal (not (and (robot kitchen) (forall (?b - ball) (at ?b hall))))))
