(define (problem p) (:domain tools)
 (:objects h - heavy l m - light s t - site)
 (:init (held h) (fits h s) (fits l s) (fits m t) (near t) (path s t))
 (:goal (and (built s))))
