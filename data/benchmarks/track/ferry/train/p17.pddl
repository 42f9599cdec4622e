(define (problem ferry-2-7)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 - location)
  (:init
    (at-ferry l2)
    (empty-ferry)
    (at c1 l5)
    (at c2 l2))
  (:goal (and
    (at c1 l1)
    (at c2 l5))))
