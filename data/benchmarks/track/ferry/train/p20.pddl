(define (problem ferry-3-7)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 l3 l4 l5 l6 l7 - location)
  (:init
    (at-ferry l5)
    (empty-ferry)
    (at c1 l1)
    (at c2 l1)
    (at c3 l1))
  (:goal (and
    (at c1 l2)
    (at c2 l2)
    (at c3 l3))))
