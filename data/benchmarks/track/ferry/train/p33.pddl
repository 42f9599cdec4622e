(define (problem ferry-1-14)
  (:domain ferry)
  (:objects c1 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 l14 - location)
  (:init
    (at-ferry l10)
    (empty-ferry)
    (at c1 l7))
  (:goal (and
    (at c1 l12))))
