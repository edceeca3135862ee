"""Names that say nothing about the source that was read: those of languages and of products."""

from __future__ import annotations

from typing import Final

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
"""Keywords, builtins, modules of the standard library and exceptions, as they are written."""

_PRODUCTS: Final = """
    ChatGPT CircleCI CPython DevOps DockerHub eBay GitHub GitLab GraphQL iOS IntelliJ iPad iPhone
    IPython JavaScript JetBrains kHz kWh LaTeX LinkedIn macOS MacOS mAh MongoDB MySQL NumPy OpenAI
    OpenAPI PhD PostgreSQL PyCharm PyPI PyPy PyTorch PyYAML SciPy SQLite StackOverflow SymPy
    TensorFlow TypeScript VSCode WiFi YouTube
"""
PRODUCTS: Final = frozenset(_PRODUCTS.split())
"""Words in CamelCase that prose is full of."""

_PRODUCT_FILES: Final = """
    angular.js backbone.js d3.js ember.js express.js next.js node.js nuxt.js p5.js react.js three.js
    vue.js
"""
PRODUCT_FILES: Final = frozenset(_PRODUCT_FILES.split())
"""Products that look like file names, in small letters."""
