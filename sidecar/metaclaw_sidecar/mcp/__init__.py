"""The memory for MCP clients: on standard input and output, and over streamable HTTP.

The SDK is imported when the first client comes.
"""

from .endpoint import McpEndpoint
from .stdio import serve_stdio

__all__ = ["McpEndpoint", "serve_stdio"]
