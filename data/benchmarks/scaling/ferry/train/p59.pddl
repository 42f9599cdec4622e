(define (problem ferry-3-10)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 - location)
  (:init
    (at-ferry l9)
    (empty-ferry)
    (at c1 l2)
    (at c2 l8)
    (at c3 l8))
  (:goal (and
    (at c1 l7)
    (at c2 l3)
    (at c3 l4))))
