(define (problem p) (:domain assembly)
 (:objects a b c - part)
 (:init (of a c) (of b c) (before b a) (before a b) (ready a) (ready b))
 (:goal (complete c)))
