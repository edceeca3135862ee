"""One file that holds a whole page: its style, its scripts and its data.

The data comes from agents and their tools, so nothing in it is trusted. It is embedded so that
no text can end the element it stands in, scripts only ever set it as text, and the page's
policy lets the browser run the page's own scripts and load nothing.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Final

from bylaw.values import Json

_FOLDER: Final = Path(__file__).parent

# `<`, `>` and `&` could end the element; old parsers read U+2028 and U+2029 as line ends; a
# surrogate has no UTF-8 form. All of them occur in JSON only inside strings, where an escape
# says the same.
_UNSAFE: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def asset(name: str) -> str:
    """The text of a file that pages are made of."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def page(
    template: str,
    *,
    title: str,
    data: Json,
    styles: Sequence[str],
    scripts: Sequence[str],
    **parts: str,
) -> str:
    """The page that a template makes of these; it loads nothing and can be written as UTF-8.

    `parts` are markup for other places that the template has.
    """
    return Template(template).substitute(
        title=html.escape(_SURROGATE.sub("\ufffd", title)),
        policy=_policy(styles, scripts),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
        data=embedded(data),
        **parts,
    )


def embedded(data: Json) -> str:
    """The data as JSON that may stand inside a `<script>` element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """A content security policy under which only these styles and scripts count."""
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_digests(styles)}; script-src {_digests(scripts)}"
    )


def _digests(sources: Sequence[str]) -> str:
    digests = (b64encode(sha256(source.encode()).digest()).decode() for source in sources)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
