(define (problem transport-1-1-2)
  (:domain transport)
  (:objects l1 l2 - location capacity-0 capacity-1 capacity-2 - size v1 - vehicle p1 - package)
  (:init
    (capacity-predecessor capacity-0 capacity-1)
    (capacity-predecessor capacity-1 capacity-2)
    (road l1 l2)
    (road l2 l1)
    (at v1 l2)
    (capacity v1 capacity-2)
    (at p1 l2))
  (:goal (and
    (at p1 l1))))
