(define (problem p) (:domain assembly)
 (:objects a b c d - part)
 (:init (of a c) (of b c) (of c d) (before b a) (ready a) (ready b))
 (:goal (complete d)))
