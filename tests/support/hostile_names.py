"""Names and texts that try to be more than text in a report."""

from __future__ import annotations

from typing import Final

HOSTILE: Final = {
    "line breaks": "a\nb\r\nc\u2028d",
    "end of CDATA": "]]>",
    "XML": "<failure message='x'>&amp;</failure><!-- -->",
    "a GitHub command": "\n::error file=x::forged\n",
    "a GitHub command, escaped": "%0A::error::forged",
    "colour": "\x1b[31mred\x1b]0;title\x07",
    "half a pair": "\ud800x\udfff",
    "no characters": "\ufffe\uffff\x00",
    "Markdown": "| a | [b](http://x) `c` **d** <img src=x onerror=y> @octocat #1",
    "a SARIF link": "[call](1) {0} {{1}}",
    "JSON": '"}]} \\" \\u0000',
    "nothing but space": " \t ",
    "a megabyte": "m" * 1_000_000,
}
"""By the reader that each is aimed at."""
