(define (problem satellite-1-3)
  (:domain satellite)
  (:objects satellite1 - satellite instrument1 - instrument mode1 - mode direction1 direction2 direction3 - direction)
  (:init
    (supports instrument1 mode1)
    (calibration_target instrument1 direction1)
    (on_board instrument1 satellite1)
    (power_avail satellite1)
    (pointing satellite1 direction1))
  (:goal (and
    (have_image direction2 mode1))))
