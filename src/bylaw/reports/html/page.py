"""A page as one file, with its styles, scripts and data.

The data comes from agents and their tools, and is not trusted. It is embedded so that no text can
end its element, scripts only ever set it as text, and the page's content security policy allows
only the page's own scripts and loads nothing.
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

from bylaw.reports.provenance import Provenance
from bylaw.values import Json

_FOLDER: Final = Path(__file__).parent / "assets"

# `<`, `>` and `&` could end the element, old parsers read U+2028 and U+2029 as line breaks, and
# surrogates have no UTF-8 form. In JSON they occur only in strings, where an escape is equivalent.
_UNSAFE: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def asset(name: str) -> str:
    """The text of an asset."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def page(
    body: str,
    *,
    title: str,
    data: Json,
    styles: Sequence[str],
    scripts: Sequence[str],
    provenance: Provenance,
    blocks: str = "",
    connects: bool = False,
    **parts: str,
) -> str:
    """A self-contained page that can be encoded as UTF-8.

    `body` names the asset for its body, `parts` fill the placeholders in it, and `blocks` is markup
    that follows the data. A page that `connects` may fetch data from its own server.
    """
    shown = html.escape(_SURROGATE.sub("\ufffd", title))
    return Template(asset("page.html")).substitute(
        title=shown,
        kind=body.removesuffix(".html"),
        policy=_policy(styles, scripts, connects=connects),
        body=Template(asset(body)).substitute(parts, title=shown),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
        data=embedded(data),
        blocks=blocks,
        origin=_origin(provenance),
    )


def _origin(provenance: Provenance) -> str:
    """The origin of the page: in words at its foot, and as JSON."""
    facts = [f"{name} {text}" for name, text in provenance.facts().items()]
    shown = " · ".join(html.escape(_SURROGATE.sub("\ufffd", each)) for each in facts)
    data = embedded(provenance.to_dict())
    return (
        f'<footer class="origin">{shown}</footer>\n'
        f'<script type="application/json" id="provenance">{data}</script>'
    )


def embedded(data: Json) -> str:
    """The data as JSON that is safe inside a `<script>` element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _policy(styles: Sequence[str], scripts: Sequence[str], *, connects: bool = False) -> str:
    """A content security policy that allows only these styles and scripts."""
    own = "connect-src 'self'; " if connects else ""
    return (
        f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; {own}"
        f"style-src {_digests(styles)}; script-src {_digests(scripts)}"
    )


def _digests(sources: Sequence[str]) -> str:
    digests = (b64encode(sha256(source.encode()).digest()).decode() for source in sources)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
