(define (problem ferry-2-4)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 - location)
  (:init
    (at-ferry l3)
    (empty-ferry)
    (at c1 l4)
    (at c2 l2))
  (:goal (and
    (at c1 l2)
    (at c2 l4))))
