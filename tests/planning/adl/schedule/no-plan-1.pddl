(define (problem p) (:domain workshop)
 (:objects a - part red blue - colour)
 (:init (painted a red) (shaped a plain) (hot a) (has-paint red))
 (:goal (and (painted a blue))))
