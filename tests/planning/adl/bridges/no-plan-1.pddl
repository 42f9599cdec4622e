(define (problem p) (:domain bridges)
 (:objects a b - node)
 (:init (edge a b) (token a))
 (:goal (and (token a) (burnt a b))))
