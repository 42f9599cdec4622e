(define (problem ferry-2-6)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 - location)
  (:init
    (at-ferry l3)
    (empty-ferry)
    (at c1 l2)
    (at c2 l1))
  (:goal (and
    (at c1 l6)
    (at c2 l2))))
