"""Streamlit's server, whose pages name its address; `sgp dashboard` starts it.

Without this, a browser that opens the address of a page first requests the server below that address, which is an error
in its console. The address is relative to the page's, so that it works behind proxies.
"""

from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

HERE = Path(__file__).parent
WHERE = "<script>window.__streamlit = { BACKEND_BASE_URL: new URL('./', location).href };</script>"
PAGE = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8").replace("<head>", f"<head>{WHERE}", 1)
VIEWS = (HERE / "views").glob("*.py")


def page(request: Request) -> HTMLResponse:
    """The HTML of every page."""
    return HTMLResponse(PAGE, headers={"Cache-Control": "no-cache"})


app = st.App(HERE / "app.py", routes=[Route("/", page), *(Route(f"/{view.stem}", page) for view in VIEWS)])
