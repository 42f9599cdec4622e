(define (problem ferry-2-8)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 l8 - location)
  (:init
    (at-ferry l4)
    (empty-ferry)
    (at c1 l5)
    (at c2 l6))
  (:goal (and
    (at c1 l4)
    (at c2 l8))))
