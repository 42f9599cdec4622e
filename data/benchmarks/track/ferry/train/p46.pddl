(define (problem ferry-2-18)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 l14 l15 l16 l17 l18 - location)
  (:init
    (at-ferry l14)
    (empty-ferry)
    (at c1 l15)
    (at c2 l6))
  (:goal (and
    (at c1 l12)
    (at c2 l4))))
