(define (problem visitall-1x2-c0-0)
  (:domain visitall)
  (:objects c0-0 c0-1)
  (:init
    (place c0-0)
    (place c0-1)
    (connected c0-0 c0-1)
    (connected c0-1 c0-0)
    (at-robot c0-0)
    (visited c0-0))
  (:goal (and
    (visited c0-0)
    (visited c0-1))))
