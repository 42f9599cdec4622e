(define (problem ferry-2-14)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 l14 - location)
  (:init
    (at-ferry l11)
    (empty-ferry)
    (at c1 l8)
    (at c2 l13))
  (:goal (and
    (at c1 l11)
    (at c2 l6))))
