(define (problem ferry-2-9)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 - location)
  (:init
    (at-ferry l1)
    (empty-ferry)
    (at c1 l2)
    (at c2 l3))
  (:goal (and
    (at c1 l8)
    (at c2 l7))))
