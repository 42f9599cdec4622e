(define (problem p) (:domain tools)
 (:objects h - heavy s t - site)
 (:init (held h) (fits h s) (near s))
 (:goal (built s)))
