; Two existential preconditions, over one type and over (either ...) types; a tautology.
(define (domain vaults)
  (:requirements :adl)

  (:types key vault - object gold silver - key)
  (:predicates (opens ?k - key ?v - vault) (have ?k - key) (holds ?v - vault ?k - key) (open ?v - vault))
  (:action unlock :parameters (?v - vault)
    :precondition (and (not (open ?v)) (exists (?k - silver) (and (have ?k) (opens ?k ?v)))
                       (exists (?k - (either gold silver)) (and (have ?k) (not (opens ?k ?v)))))
    :effect (open ?v))
  (:action take :parameters (?v - vault ?k - key)
    :precondition (and (open ?v) (or (holds ?v ?k) (have ?k))) :effect (and (have ?k) (not (holds ?v ?k))))
  (:action shut :parameters (?v - vault) :precondition (or (open ?v) (not (open ?v))) :effect (not (open
    ?v))))
