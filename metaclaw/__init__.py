"""The middleware between a personal agent and its LLM."""

__version__ = "0.1.0"
