"""The dashboard: step through recorded plans and see why each action was taken. Start it with 'sgp dashboard'."""

from pathlib import Path

import streamlit as st
from basics import css

# Not "pages": Streamlit would run files in a folder of that name without this file.
VIEWS = Path(__file__).parent / "views"

st.set_page_config(page_title="sgp", layout="wide")
# The room of a player on the screen, and the height of Streamlit's header. Streamlit's own captions and chosen buttons
# have less contrast than WCAG AA requires.
st.html(f"<style>{css('app')}</style>")
TITLES = {
    **{"rollout": "Rollout", "what_if": "What if", "compare": "Compare", "coverage": "Coverage", "scaling": "Scaling"},
    **{"failures": "Failures", "next_state": "Next state", "own_problem": "Your own problem", "tour": "Tour"},
    "guess": "Guess the move",
}
pages = [st.Page(VIEWS / f"{name}.py", title=title, default=name == "rollout") for name, title in TITLES.items()]
st.navigation(pages, position="top").run()
