"""The documentation site: these Markdown pages, and a reference made from docstrings. `make docs` builds it."""

import re
from typing import Any

from plisse import __version__

project = "Plissé"
copyright = "the Plissé contributors"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"Plissé {release}"
# headings that pages may link to
myst_heading_anchors = 3
# docstrings are plain text with names in single backticks
default_role = "code"
autodoc_default_options = {"member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Floats", "Ints", "Longs", "Blocks")}
# a name that the package and a room both export is found twice
suppress_warnings = ["ref.python"]


# what Sphinx cannot print well in a signature, and how it reads instead
SPELLINGS = {
    r"TypeAliasForwardRef\('(\w+)'\)": r"\1",
    r", _\w+: [^=]*= <factory>": "",
    "<factory>": "…",
    r"~[\w.]*\.(\w+)": r"\1",
}


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", respell)


def respell(app: Any, what: str, name: str, thing: Any, options: Any, signature: str, returns: str) -> Any:
    for pattern, spelling in SPELLINGS.items():
        signature, returns = (re.sub(pattern, spelling, text) if text else text for text in (signature, returns))
    return signature, returns
