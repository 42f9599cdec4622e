"""How Sphinx builds the site; `docs/build.py` writes what it reads."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

HERE = Path(__file__).resolve().parent

project = "sgp"
author = "The sgp developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]  # napoleon reads sections such as "Args:"
default_role = "literal"  # the docstrings' `name`

html_theme = "theme"
html_theme_path = [str(HERE)]
html_title = "sgp"
html_copy_source = False
html_use_index = False
html_show_search_summary = False  # it would be fetched, which a browser refuses to a page in a folder

nb_execution_mode = "off"  # docs/build.py has executed them
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from another machine
nb_merge_streams = True
nb_render_markdown_format = "myst"  # tables, too
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]  # so that formulas are seen, and refused

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

_log = logging.getLogger(__name__)


def refuse_mathematics(app: Sphinx, doctree: nodes.document) -> None:
    """Warns of formulas in TeX, whose script would come from another machine."""
    for formula in doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
        _log.warning("a formula in TeX needs a network; write '%s' in plain text", formula.astext(), location=formula)


def setup(app: Sphinx) -> None:
    """Looks at every page as it is read."""
    app.connect("doctree-read", refuse_mathematics)
