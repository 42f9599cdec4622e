(define (problem ferry-3-2)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 - location)
  (:init
    (at-ferry l1)
    (empty-ferry)
    (at c1 l1)
    (at c2 l2)
    (at c3 l1))
  (:goal (and
    (at c1 l2)
    (at c2 l1)
    (at c3 l2))))
