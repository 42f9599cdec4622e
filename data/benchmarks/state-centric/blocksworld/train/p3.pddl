(define (problem blocksworld-4)
  (:domain blocksworld)
  (:objects b1 b2 b3 b4)
  (:init
    (clear b2)
    (handempty)
    (on b2 b3)
    (on b3 b4)
    (on b4 b1)
    (ontable b1))
  (:goal (and
    (on b4 b3)
    (on b2 b4)
    (on b1 b2))))
