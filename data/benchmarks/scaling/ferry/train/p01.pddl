(define (problem ferry-1-7)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 l4 l5 l6 l7 - location)
  (:init
    (at-ferry l5)
    (empty-ferry)
    (at c1 l3))
  (:goal (and
    (at c1 l6))))
