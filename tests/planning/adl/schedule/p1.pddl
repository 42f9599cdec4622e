(define (problem p) (:domain workshop)
 (:objects a b - part red blue - colour)
 (:init (painted a red) (painted b blue) (shaped a plain) (shaped b cylindrical) (has-paint blue))
 (:goal (and (painted a blue) (shaped a cylindrical) (smooth b) (not (busy)))))
