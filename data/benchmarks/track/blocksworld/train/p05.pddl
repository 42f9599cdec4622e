(define (problem blocksworld-3)
  (:domain blocksworld)
  (:objects b1 b2 b3)
  (:init
    (clear b3)
    (handempty)
    (on b2 b1)
    (on b3 b2)
    (ontable b1))
  (:goal (and
    (ontable b2)
    (on b1 b2)
    (on b3 b1))))
