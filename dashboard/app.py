"""The dashboard: step through recorded plans and see why each action was taken. Start it with 'sgp dashboard'."""

from pathlib import Path

import streamlit as st
from basics import css

import sgp

# Not "pages": Streamlit would run files in a folder of that name without this file.
VIEWS = Path(__file__).parent / "views"

# When the bundled data were made (docs/results.md has the commands).
ORIGIN = (
    "Bundled scores: measured from 2026-11-21 to 2026-11-29 on up to 2 cores; bundled rollouts: recorded by "
    "2026-11-27; distances to the goal computed from 2026-11-26 on."
)

# The room of a player on the screen, and the height of Streamlit's header. Streamlit's own captions and chosen buttons
# have less contrast than WCAG AA requires.
st.html(f"<style>{css('app')}</style>")
page = st.navigation(
    [
        st.Page(VIEWS / "start.py", title="Start", default=True),
        st.Page(VIEWS / "rollout.py", title="Rollout"),
        st.Page(VIEWS / "what_if.py", title="What if"),
        st.Page(VIEWS / "compare.py", title="Compare"),
        st.Page(VIEWS / "coverage.py", title="Coverage"),
        st.Page(VIEWS / "scaling.py", title="Scaling"),
        st.Page(VIEWS / "failures.py", title="Failures"),
        st.Page(VIEWS / "next_state.py", title="Next state"),
        st.Page(VIEWS / "own_problem.py", title="Your own problem"),
        st.Page(VIEWS / "tour.py", title="Tour"),
        st.Page(VIEWS / "guess.py", title="Guess the move"),
    ],
    position="top",
)
st.set_page_config(page_title=f"{page.title} · sgp", layout="wide")
st.html(f'<h1 class="hidden">sgp</h1><h2 class="hidden">{page.title}</h2>')
page.run()
st.caption(f"sgp {sgp.__version__}. {ORIGIN}")
