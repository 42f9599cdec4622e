(define (problem ferry-1-8)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 l4 l5 l6 l7 l8 - location)
  (:init
    (at-ferry l8)
    (empty-ferry)
    (at c1 l4))
  (:goal (and
    (at c1 l7))))
