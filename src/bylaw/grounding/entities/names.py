"""Names of code in text: functions written with parentheses, and identifiers."""

from __future__ import annotations

import re
from typing import Final

from bylaw.texts.text import Findings, TextSpan

_KEYWORDS: Final = """
    and as assert async await break class const continue def del elif else enum except finally for
    from function global if import in interface is lambda let new nonlocal not null or pass public
    raise return self static struct super switch this throw true try typedef undefined var void
    while with yield None True False cls sizeof console
"""
_BUILTINS: Final = """
    abs all any bool bytes callable dict enumerate filter float format getattr hasattr hash input
    int isinstance issubclass iter len list map max min next object open print property range repr
    reversed round set setattr slice sorted staticmethod classmethod str sum tuple type vars zip
    __name__ __main__ free malloc memcpy printf strlen
"""
_MODULES: Final = """
    abc argparse ast asyncio collections contextlib copy csv dataclasses datetime enum functools
    hashlib importlib inspect io itertools json logging math multiprocessing os pathlib pickle
    random re shutil socket sqlite3 string struct subprocess sys tempfile threading time traceback
    typing unittest urllib uuid warnings std
"""
_EXCEPTIONS: Final = """
    ArithmeticError AssertionError AttributeError BaseException DeprecationWarning Exception
    FileNotFoundError ImportError IndexError IOError KeyError KeyboardInterrupt LookupError
    MemoryError ModuleNotFoundError NameError NotImplementedError OSError OverflowError
    PermissionError RecursionError RuntimeError StopIteration SyntaxError SystemExit TimeoutError
    TypeError UnicodeDecodeError UnicodeEncodeError UserWarning ValueError ZeroDivisionError
"""
BLOCKED: Final = frozenset(" ".join((_KEYWORDS, _BUILTINS, _MODULES, _EXCEPTIONS)).split())
"""Keywords, builtins, standard modules and exceptions, which no source needs to show."""

_PRODUCTS: Final = """
    ChatGPT CircleCI CPython DevOps DockerHub eBay GitHub GitLab GraphQL iOS IntelliJ iPad iPhone
    IPython JavaScript JetBrains kHz kWh LaTeX LinkedIn macOS MacOS mAh MongoDB MySQL NumPy OpenAI
    OpenAPI PhD PostgreSQL PyCharm PyPI PyPy PyTorch PyYAML SciPy SQLite StackOverflow SymPy
    TensorFlow TypeScript VSCode WiFi YouTube
"""
PRODUCTS: Final = frozenset(_PRODUCTS.split())
"""CamelCase words that are common in prose."""

_PRODUCT_FILES: Final = """
    angular.js backbone.js d3.js ember.js express.js next.js node.js nuxt.js p5.js react.js three.js
    vue.js
"""
PRODUCT_FILES: Final = frozenset(_PRODUCT_FILES.split())
"""Products that look like file names, in lower case."""


SHORTEST: Final = 3
"""The minimum length of a name that is checked."""

_NAME: Final = r"[^\W\d]\w*"
_CHAIN: Final = rf"{_NAME}(?:(?:\.|::|->){_NAME})*"
_CALLED: Final = re.compile(
    rf"(?<![\w\\])(?<!\w\.)(?<!\w::)(?<!\w->)(?P<name>{_CHAIN})\((?!(?:s|es|ies|n)\))"
)
_WRITTEN: Final = re.compile(rf"(?<![\w\\]){_CHAIN}")
_IN_CODE: Final = re.compile(rf"(?P<name>{_CHAIN})[;,:]?")
_DECLARED: Final = re.compile(
    rf"^[ \t]*(?:class|struct|interface|enum|trait|def|fn|func|function)[ \t]+(?P<name>{_NAME})",
    re.MULTILINE,
)
_HUMP: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_LINK: Final = re.compile(r"\.|::|->")
_ITALIC: Final = re.compile(r"_(?!_)(.+?)(?<!_)_")
_OWNER: Final = ("self", "cls", "this")


def calls(text: str) -> Findings:
    """Functions written with parentheses: `Session.send(…)` gives `Session.send()`."""
    for found in _CALLED.finditer(text):
        name = _own(found["name"])
        yield TextSpan(*found.span("name"), found[0]), f"{name}()" if _matters(name) else None


def identifiers(text: str, code: list[TextSpan]) -> Findings:
    """Names in snake_case or CamelCase, and any name between backticks or in a declaration."""
    for span in code:
        found = _IN_CODE.fullmatch(span.text.strip())
        if found is not None:
            yield span, _checked_name(found["name"], code=True)
        for declared in _DECLARED.finditer(span.text):
            start = span.start + declared.start("name")
            name = declared["name"]
            yield TextSpan(start, start + len(name), name), _checked_name(name, code=True)
    for found in _WRITTEN.finditer(text):
        if any(map(is_built, name_parts(found[0]))):
            inside = any(span.start <= found.start() < span.end for span in code)
            yield TextSpan(*found.span(), found[0]), _checked_name(found[0], code=inside)


def _checked_name(name: str, *, code: bool) -> str | None:
    italic = None if code else _ITALIC.fullmatch(name)
    own = _own(italic[1] if italic else name)
    return own if _matters(own) and (code or own not in PRODUCTS) else None


def _own(name: str) -> str:
    """The name without a leading `self.`."""
    owner, link, rest = name.partition(".")
    return rest if link and owner in _OWNER else name


def _matters(name: str) -> bool:
    return len(name) >= SHORTEST and name_parts(name)[0] not in BLOCKED


def is_built(name: str) -> bool:
    """True for names that are formed like code and unlike words: snake_case or CamelCase."""
    inner = name.strip("_")
    return "_" in inner or (inner != "" and name[0] == "_") or _HUMP.search(name) is not None


def name_parts(name: str) -> list[str]:
    """The parts of a name that is joined by `.`, `::` or `->`."""
    return _LINK.split(name)


def bare_name(name: str) -> str:
    """The name without its parentheses."""
    return name.removesuffix("()")


def name_key(name: str) -> str:
    """The name as it is compared, ignoring case."""
    return name.casefold()
