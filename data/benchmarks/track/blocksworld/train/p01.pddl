(define (problem blocksworld-2)
  (:domain blocksworld)
  (:objects b1 b2)
  (:init
    (clear b2)
    (handempty)
    (on b2 b1)
    (ontable b1))
  (:goal (and
    (ontable b2)
    (on b1 b2))))
