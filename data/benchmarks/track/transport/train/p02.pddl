(define (problem transport-1-1-2)
  (:domain transport)
  (:objects l1 l2 - location capacity-0 capacity-1 - size v1 - vehicle p1 - package)
  (:init
    (capacity-predecessor capacity-0 capacity-1)
    (road l1 l2)
    (road l2 l1)
    (at v1 l2)
    (capacity v1 capacity-1)
    (at p1 l1))
  (:goal (and
    (at p1 l2))))
