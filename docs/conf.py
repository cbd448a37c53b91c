"""Sphinx's configuration of the documentation site; `make docs` builds it, offline."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent / "python"), str(DOCS.parent / "python/tools")]
os.environ["MPLBACKEND"] = "agg"

import clearpipe as cp
from docsite import write

write.all_pages()

project = "Clearpipe"
author = "The Clearpipe developers"
copyright = "The Clearpipe developers"
version = release = cp.version()

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "docsite.mathml",
]
html_math_renderer = "mathml"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "reference/*/table.txt", "tutorials/exercises/solutions", "**/.ipynb_checkpoints"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]

nitpicky = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
python_use_unqualified_type_names = True
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "Clearpipe"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["clearpipe.css"]
html_show_sphinx = False
html_copy_source = True
html_show_sourcelink = True
html_extra_path = ["_extra"] if (DOCS / "_extra").is_dir() else []
# The lab is a folder of its own in the site; `make docs` puts it there where node can build it.
HAS_LAB = (DOCS / "_extra/lab/index.html").is_file()
templates_path = ["_templates"]
html_context = {"has_lab": HAS_LAB}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "lab.html",
        "sidebar/scroll-end.html",
    ]
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def _published(_app: object, page: str, source: list[str]) -> None:
    """The published pages have anchors in HTML, which MyST's own links do not see."""
    if not page.startswith("evidence/reproduction/"):
        return
    text = re.sub(r"\]\((\w+)\.(json)\)", r"](\1.\2)", source[0])
    text = re.sub(
        r"(?<!!)\[([^\[\]]+)\]\((?:(\w+)\.md)?#([^)]+)\)",
        lambda m: f'<a href="{(m[2] + ".html") if m[2] else ""}#{m[3]}">{m[1]}</a>',
        text,
    )
    source[0] = text


def _without_lab(_app: object, _page: str, source: list[str]) -> None:
    """Links to a lab that is not there would lead nowhere."""
    if not HAS_LAB:
        source[0] = re.sub(r'<a class="lab" href="[^"]*">([^<]*)</a>', "", source[0])


def setup(app: object) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _published)  # type: ignore[attr-defined]
    app.connect("source-read", _without_lab)  # type: ignore[attr-defined]
    # Pages are read again when the lab comes or goes.
    app.add_config_value("has_lab", HAS_LAB, "env")  # type: ignore[attr-defined]
    # The last lines of some tables of contents take in pages that may come later.
    log = logging.getLogger("sphinx.sphinx.directives.other")
    log.addFilter(lambda record: "didn't match any documents" not in record.getMessage())
