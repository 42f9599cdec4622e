(define (problem visitall-2x1-c1-0)
  (:domain visitall)
  (:objects c0-0 c1-0)
  (:init
    (place c0-0)
    (place c1-0)
    (connected c0-0 c1-0)
    (connected c1-0 c0-0)
    (at-robot c1-0)
    (visited c1-0))
  (:goal (and
    (visited c0-0)
    (visited c1-0))))
