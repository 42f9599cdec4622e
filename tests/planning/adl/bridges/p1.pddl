(define (problem p) (:domain bridges)
 (:objects a b c - node)
 (:init (edge a b) (edge b c) (edge c a) (token a))
 (:goal (and (token a) (burnt a b) (burnt b c) (free))))
