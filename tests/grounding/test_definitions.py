"""Definitions in sources: from syntax trees, and without them."""

from __future__ import annotations

import pytest

from bylaw.grounding.evidence import c_definitions
from bylaw.grounding.evidence.definitions import SourceDefinitions
from bylaw.grounding.evidence.python_definitions import defined_in_python
from bylaw.grounding.evidence.source import indexed_source

PYTHON = '''
from .base import Base, helper as other
LIMIT: int = 3
first, *rest = parts

class Session(Base[int], metaclass=Meta):
    """class Fake:
    def fake(self): ...
    """
    verify = True

    @property
    def headers(self):
        def inner(): ...
        return self._headers

    async def send(self, request):
        self.sent = request
        if request:
            self.count: int = 1

def request(method, url):
    with Session() as session:
        return session.send(method)
'''


def _python(text: str) -> SourceDefinitions:
    return defined_in_python([text])


def test_python_by_its_tree() -> None:
    found = _python(PYTHON)
    for name in (
        *("limit", "first", "rest", "session", "request", "session.verify", "session.headers"),
        *("session.send", "session.sent", "session.count", "session.headers.inner", "inner"),
    ):
        assert name in found, name
    for name in ("base", "helper", "other", "fake", "fake.fake", "method", "session.fake"):
        assert name not in found, name
    assert found.bases == {"session": ("base",)}
    assert found.has_member("session", "send")


def test_python_that_does_not_parse() -> None:
    found = _python(PYTHON + "\ndef torn(a, b=\n")
    for name in ("limit", "session", "session.send", "session.sent", "request", "torn"):
        assert name in found, name
    assert "method" not in found


def test_changing_an_attribute_does_not_define_its_owner() -> None:
    text = (
        "backoff_delay.calls = 0\nREG[Session] = 0\n(a.b, [c, *d[e]]) = x\n"
        "class Own:\n  def f(self):\n    self.inner.outer = 1\n    (self.one, self.two[i]) = x\n"
    )
    assert _python(text).names == {"c", "own", "f", "own.f", "one", "own.one"}


def test_members_of_bases() -> None:
    found = _python("class A:\n  def a(self): ...\nclass B(A): ...\nclass C(B, C): ...\n")
    assert found.has_member("c", "a")
    assert not found.has_member("a", "b")


@pytest.mark.parametrize("text", ["", "\0", "(" * 5000, "x = " + "-" * 9000 + "1", "\ufeffx = 1\n"])
def test_odd_sources_do_no_harm(text: str) -> None:
    assert isinstance(_python(text), SourceDefinitions)


CPP = """
#include "missing.h"
#define MAX_LEN 10
typedef struct { int a; } point_t;
class Base { public: virtual void reset(); };
class Parser : public Base {
 public:
  explicit Parser(int n) : n_(n) {}
  int parse(const char *text);
 private:
  int n_;
};
int Parser::parse(const char *text) { if (text) { return scan(text); } return 0; }
int Missing::method(int x) { return x; }
static inline int helper(int a, int b)
{
    return a + b;
}
int declared(void);
"""


@pytest.fixture(params=["libclang", "by shape"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    c_definitions._clang.cache_clear()
    if request.param == "by shape":
        monkeypatch.setattr(c_definitions, "_clang", lambda: None)
    elif c_definitions._clang() is None:
        pytest.skip("libclang is not installed: pip install libclang")
    return str(request.param)


def test_cpp(reader: str) -> None:
    found = c_definitions.defined_in_c(CPP, "cpp")
    for name in (
        *("max_len", "point_t", "base", "base.reset", "parser", "parser.parse"),
        *("missing.method", "helper", "declared"),
    ):
        assert name in found, name
    for name in ("scan", "if", "return", "parser.reset", "text"):
        assert name not in found, name
    assert found.has_member("parser", "reset")


def test_c(reader: str) -> None:
    found = c_definitions.defined_in_c(
        "#include <stdio.h>\nint main(void) { return add(1, 2); }\n"
        "struct node { struct node *next; };\nenum colour { RED, GREEN };\n",
        "c",
    )
    assert {"main", "node", "colour"} <= found.names
    assert not {"add", "printf"} & found.names


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.js", "export class Cart {}\nfunction total() {}\nconst rate = 3;", "cart total rate"),
        ("a.ts", "export interface Item {}\nexport const price: number = 3;", "item price"),
        ("a.go", "type Cart struct {}\nfunc (c *Cart) Total() int {}", "cart total"),
        ("a.rs", "pub struct Cart;\npub(crate) fn total() {}", "cart total"),
        ("A.java", "public final class Cart { }", "cart"),
    ],
)
def test_other_languages_line_by_line(path: str, text: str, names: str) -> None:
    found = indexed_source([text], path).definitions
    assert set(names.split()) <= found.names
    assert "int" not in found.names


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.ts", "import type Session from './retry';"),
        ("a.ts", "import {\n  type Session,\n  type Other as Another\n} from './retry';"),
        ("a.ts", "export {\n  type Session\n} from './retry';"),
        ("a.php", "use function Session;"),
        ("a.swift", "  import class Kit.Session"),
        ("a.cs", "using namespace Session;"),
    ],
)
def test_imported_names_are_not_defined(path: str, text: str) -> None:
    found = indexed_source([f"{text}\nclass Cart {{}}"], path).definitions
    assert found.names == {"cart"}


def test_line_numbers_of_a_tool_are_left_out() -> None:
    numbered = "".join(f"{n:>6}\t{line}\n" for n, line in enumerate(PYTHON.splitlines(), 1))
    assert "session.send" in indexed_source([numbered], "a.py").definitions
