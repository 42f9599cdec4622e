"""The dashboard: step through recorded plans and see why each action was taken. Start it with 'sgp dashboard'."""

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parent / "pages"

st.set_page_config(page_title="sgp", layout="wide")
st.html("<style>.stMainBlockContainer { padding: 4.6rem 2.5rem 2rem; }</style>")
st.navigation(
    [
        st.Page(PAGES / "rollout.py", title="Rollout", default=True),
        st.Page(PAGES / "what_if.py", title="What if"),
        st.Page(PAGES / "own_problem.py", title="Your own problem"),
        st.Page(PAGES / "tour.py", title="Tour"),
    ],
    position="top",
).run()
