(define (problem miconic-1-2)
  (:domain miconic)
  (:objects p1 - passenger f1 f2 - floor)
  (:init
    (above f1 f2)
    (origin p1 f1)
    (destin p1 f2)
    (lift-at f2))
  (:goal (and
    (served p1))))
