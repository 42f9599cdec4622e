(define (problem p) (:domain goals)
 (:objects b1 b2 - ball kitchen - room)
 (:init (at b1 hall) (at b2 hall) (robot kitchen) (red b2))
 (:goal (forall (?b - ball) (imply (red ?b) (exists (?r - room) (and (at ?b ?r) (not (= ?r hall))))))))
