(define (problem spanner-1-1-1)
  (:domain spanner)
  (:objects bob - man spanner1 - spanner nut1 - nut shed location1 gate - location)
  (:init
    (at bob shed)
    (at spanner1 location1)
    (usable spanner1)
    (loose nut1)
    (at nut1 gate)
    (link shed location1)
    (link location1 gate))
  (:goal (and
    (tightened nut1))))
