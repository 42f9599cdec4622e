(define (problem ferry-2-19)
  (:domain ferry)
  (:objects c1 c2 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 l14 l15 l16 l17 l18 l19 - location)
  (:init
    (at-ferry l7)
    (empty-ferry)
    (at c1 l4)
    (at c2 l5))
  (:goal (and
    (at c1 l16)
    (at c2 l3))))
