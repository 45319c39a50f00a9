"""An LLM provider that answers from a script: a real HTTP server for tests and trials, never part of the product.

It speaks chat completions, legacy completions, Anthropic messages with count_tokens, responses, embeddings and the
model list, streamed or whole, and records each request as raw bytes. `python -m tests.scripted_upstream --help`.
"""

from tests.scripted_upstream.cache import Counted, PromptCache
from tests.scripted_upstream.script import Reply, Rule, Script, ToolCall
from tests.scripted_upstream.server import Recorded, ScriptedUpstream

__all__ = ["Counted", "PromptCache", "Recorded", "Reply", "Rule", "Script", "ScriptedUpstream", "ToolCall"]
