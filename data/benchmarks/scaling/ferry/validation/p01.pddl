(define (problem ferry-3-13)
  (:domain ferry)
  (:objects c1 c2 c3 - car l1 l2 l3 l4 l5 l6 l7 l8 l9 l10 l11 l12 l13 - location)
  (:init
    (at-ferry l1)
    (empty-ferry)
    (at c1 l11)
    (at c2 l11)
    (at c3 l12))
  (:goal (and
    (at c1 l5)
    (at c2 l2)
    (at c3 l11))))
