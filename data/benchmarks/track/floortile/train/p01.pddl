(define (problem floortile-1-1x1)
  (:domain floortile)
  (:objects tile0-1 tile1-1 - tile robot1 - robot white black - color)
  (:init
    (available-color white)
    (available-color black)
    (robot-at robot1 tile1-1)
    (robot-has robot1 white)
    (clear tile0-1)
    (down tile0-1 tile1-1)
    (up tile1-1 tile0-1))
  (:goal (and
    (painted tile1-1 white))))
