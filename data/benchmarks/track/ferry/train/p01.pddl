(define (problem ferry-1-2)
  (:domain ferry)
  (:objects c1 - car l1 l2 - location)
  (:init
    (at-ferry l2)
    (empty-ferry)
    (at c1 l2))
  (:goal (and
    (at c1 l1))))
