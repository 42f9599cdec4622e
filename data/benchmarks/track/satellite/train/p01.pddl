(define (problem satellite-1-2)
  (:domain satellite)
  (:objects satellite1 - satellite instrument1 - instrument mode1 - mode direction1 direction2 - direction)
  (:init
    (supports instrument1 mode1)
    (calibration_target instrument1 direction2)
    (on_board instrument1 satellite1)
    (power_avail satellite1)
    (pointing satellite1 direction2))
  (:goal (and
    (have_image direction1 mode1)
    (have_image direction2 mode1))))
