"""Pictures of a task's states, as a notebook shows them."""

from __future__ import annotations

import sgp


def test_a_picture_shows_the_state_and_the_goal(two_blocks):
    first = sgp.picture(two_blocks)._repr_svg_()
    assert first.startswith("<svg")
    assert sgp.picture(two_blocks, two_blocks.init).svg == first
    (after, *_) = two_blocks.successors(two_blocks.init)
    assert sgp.picture(two_blocks, after.state).svg != first
    assert sgp.goal_picture(two_blocks).svg != first
