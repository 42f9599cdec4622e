(define (problem ferry-1-3)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 - location)
  (:init
    (at-ferry l1)
    (empty-ferry)
    (at c1 l2))
  (:goal (and
    (at c1 l1))))
