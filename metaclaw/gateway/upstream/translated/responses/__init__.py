"""OpenAI responses."""

from metaclaw.gateway.upstream.translated.responses.answer_reader import AnswerReader
from metaclaw.gateway.upstream.translated.responses.answer_writer import StreamWriter, write_answer
from metaclaw.gateway.upstream.translated.responses.request_reader import read_request, read_tools
from metaclaw.gateway.upstream.translated.responses.request_writer import write_request

__all__ = ["AnswerReader", "StreamWriter", "read_request", "read_tools", "write_answer", "write_request"]
