(define (problem childsnack-1-0)
  (:domain childsnack)
  (:objects child1 - child bread1 - bread-portion content1 - content-portion tray1 - tray table1 table2 table3 - place sandw1 - sandwich)
  (:init
    (at tray1 kitchen)
    (at_kitchen_bread bread1)
    (at_kitchen_content content1)
    (not_allergic_gluten child1)
    (waiting child1 table1)
    (notexist sandw1))
  (:goal (and
    (served child1))))
