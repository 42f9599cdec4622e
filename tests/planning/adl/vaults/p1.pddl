(define (problem p) (:domain vaults)
 (:objects g - gold s t - silver v w - vault)
 (:init (have s) (have g) (opens s v) (opens t w) (holds v t))
 (:goal (and (open w) (have t) (not (open v)))))
