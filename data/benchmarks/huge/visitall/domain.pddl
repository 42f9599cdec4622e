(define (domain visitall)
  (:requirements :strips)
  (:predicates (place ?c) (connected ?a ?b) (at-robot ?c) (visited ?c))
  (:action move
    :parameters (?from ?to)
    :precondition (and (place ?from) (place ?to) (at-robot ?from) (connected ?from ?to))
    :effect (and (at-robot ?to) (visited ?to) (not (at-robot ?from)))))
