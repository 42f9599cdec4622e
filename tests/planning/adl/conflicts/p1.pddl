(define (problem p) (:domain conflicts)
 (:objects a b)
 (:init (p a) (q a) (r b) (link a b) (link b a) (link a a))
 (:goal (and (not (p a)) (q a) (r a) (not (p b)) (not (q b)) (not (r b)))))
