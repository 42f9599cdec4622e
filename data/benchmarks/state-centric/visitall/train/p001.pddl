(define (problem visitall-1x1-c0-0)
  (:domain visitall)
  (:objects c0-0)
  (:init
    (place c0-0)
    (at-robot c0-0)
    (visited c0-0))
  (:goal (and
    (visited c0-0))))
