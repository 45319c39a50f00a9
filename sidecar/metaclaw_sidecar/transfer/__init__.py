"""Memories in files: ours, Markdown, the public system's database, mem0's data; out of the store and into it."""

from .incoming import Imported
from .reading import FORMATS, ImportFormat
from .taking import take_in
from .writing import EXPORTS, ExportFormat, export

__all__ = ["EXPORTS", "FORMATS", "ExportFormat", "ImportFormat", "Imported", "export", "take_in"]
