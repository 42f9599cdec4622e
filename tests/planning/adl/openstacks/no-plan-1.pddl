(define (problem p) (:domain stacks)
 (:objects o1 o2 - order x - product n0 n1 - count)
 (:init (includes o1 x) (includes o2 x) (waiting o1) (waiting o2) (open n1) (next n0 n1))
 (:goal (and (shipped o1) (shipped o2))))
