(define (problem p) (:domain vaults)
 (:objects s - silver v - vault)
 (:init (have s) (opens s v))
 (:goal (open v)))
