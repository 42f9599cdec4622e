(define (problem p) (:domain tolls)
 (:objects a b c - place)
 (:init (at a) (road c b) (ferry a c) (= (total-cost) 0) (= (length a b) 2) (= (length b a) 2) (= (length b
    c) 4) (= (length c b) 4) (= (length a c) 1) (= (length c a) 1))
 (:goal (and (seen b) (seen c) (at a))) (:metric minimize (total-cost)))
