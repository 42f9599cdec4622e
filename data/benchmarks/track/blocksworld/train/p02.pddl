(define (problem blocksworld-2)
  (:domain blocksworld)
  (:objects b1 b2)
  (:init
    (clear b1)
    (handempty)
    (on b1 b2)
    (ontable b2))
  (:goal (and
    (ontable b2)
    (ontable b1))))
