(define (problem ferry-3-4)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 l3 l4 - location)
  (:init
    (at-ferry l3)
    (empty-ferry)
    (at c1 l4)
    (at c2 l1)
    (at c3 l4))
  (:goal (and
    (at c1 l3)
    (at c2 l4)
    (at c3 l1))))
