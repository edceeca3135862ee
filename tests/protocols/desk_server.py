"""An MCP server for the tests, of the official SDK: `python desk_server.py stdio|PORT [LOG]`."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("desk", log_level="CRITICAL")
log = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def note(call: str) -> None:
    if log is not None:
        with log.open("a") as file:
            file.write(f"{call}\n")


@server.tool()
def lookup(order: int) -> dict[str, int]:
    """Looks an order up."""
    note(f"lookup {order}")
    return {"paid": 20}


@server.tool()
def verify(customer: str) -> str:
    """Verifies a customer."""
    note(f"verify {customer}")
    if customer == "nobody":
        raise LookupError("no such customer")
    return "verified"


@server.tool()
def refund(order: int, amount: int) -> str:
    """Refunds an order."""
    note(f"refund {order} {amount}")
    return "refunded"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[1]))
