(define (problem ferry-3-6)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 l3 l4 l5 l6 - location)
  (:init
    (at-ferry l3)
    (empty-ferry)
    (at c1 l3)
    (at c2 l2)
    (at c3 l6))
  (:goal (and
    (at c1 l5)
    (at c2 l3)
    (at c3 l5))))
