"""The documentation as a site: `make docs` writes it to site/.

The pages are Markdown as GitHub reads it. Sphinx adds the navigation, the search, and a check of
all links. The site needs no server and loads nothing from the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace
from sphinx.application import Sphinx

from bylaw import __version__
from bylaw.logic.operators import KEYWORDS
from bylaw.vocabulary.functions import FUNCTIONS
from bylaw.vocabulary.predicates import PREDICATES

project = "Bylaw"
author = "The Bylaw authors"
copyright = author
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["results/*/**"]
nitpicky = True
myst_heading_anchors = 4
smartquotes = False  # `--help` is not `–help`
suppress_warnings = [
    "misc.highlighting_failure",  # examples leave parts out: `…`
]

html_theme = "furo"
html_title = f"Bylaw {__version__}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # pages that are opened as files cannot read one another
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "tango"
pygments_dark_style = "github-dark"

_LISTED: Final = re.compile(r"- \[(?P<title>[^\]]+)\]\((?P<page>[^)#]+)\.md\)")
_TITLED: Final = re.compile(
    r'^(?P<ticks> *`{3,})(?P<language>\w+) title="(?P<title>[^"]+)"$', re.MULTILINE
)
_AUDIENCE: Final = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<page>for/[^)]+)\.md\)")


def setup(app: Sphinx) -> None:
    """Registers what is particular to these pages."""
    app.connect("source-read", _read)
    app.add_lexer("bylaw", BylawLexer)


def _read(app: Sphinx, name: str, content: list[str]) -> None:
    """The titles of blocks become captions, and the lists of the index the navigation."""
    content[0] = _TITLED.sub(
        r"\g<ticks>{code-block} \g<language>\n:caption: \g<title>\n", content[0]
    )
    if name == "index":
        content[0] += "\n".join(_navigation(content[0]))


def _navigation(index: str) -> Iterator[str]:
    """A hidden table of contents for each heading of the index that has a list."""
    yield from _contents("Begin", [found["page"] for found in _AUDIENCE.finditer(index)])
    for part in re.split(r"^##+ ", index, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        pages = [found["page"] for found in _LISTED.finditer(text)]
        if pages:
            yield from _contents(heading, pages)


def _contents(caption: str, pages: list[str]) -> Iterator[str]:
    yield from ("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", "")


class BylawLexer(RegexLexer):
    """Colours rules."""

    name = "Bylaw"
    aliases: ClassVar[list[str]] = ["bylaw"]
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#.*$", Comment),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"/(?:\\.|[^/\\\n ])(?:\\.|[^/\\\n])*/", String.Regex),
            (r"\d+(?:\.\d+)?(?: (?:ms|s|min|h|d)\b)?", Number),
            (words(sorted([*KEYWORDS, "from", "of", "mentions", "sh"]), r"\b", r"\b"), Keyword),
            (words(sorted(PREDICATES), r"\b", r"\b"), Name.Builtin),
            (words(sorted(filter(str.isidentifier, FUNCTIONS)), r"\b", r"(?=\()"), Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"[-=!<>&|~+*/]+", Operator),
            (r".", Punctuation),
        ]
    }
