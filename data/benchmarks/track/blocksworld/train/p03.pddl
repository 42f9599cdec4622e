(define (problem blocksworld-3)
  (:domain blocksworld)
  (:objects b1 b2 b3)
  (:init
    (clear b2)
    (handempty)
    (on b1 b3)
    (on b2 b1)
    (ontable b3))
  (:goal (and
    (ontable b3)
    (on b2 b3)
    (on b1 b2))))
