(define (problem ferry-1-9)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 - location)
  (:init
    (at-ferry l7)
    (empty-ferry)
    (at c1 l2))
  (:goal (and
    (at c1 l9))))
