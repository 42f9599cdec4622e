(define (problem ferry-1-15)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 l14 l15 - location)
  (:init
    (at-ferry l5)
    (empty-ferry)
    (at c1 l14))
  (:goal (and
    (at c1 l5))))
