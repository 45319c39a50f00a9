"""Draws memories from turns with a language model, and checks everything it says."""

from .extractor import Extraction, Extractor, Fact, LeanExtractor
from .mem0_extractor import Mem0Extractor
from .model import Model

__all__ = ["Extraction", "Extractor", "Fact", "LeanExtractor", "Mem0Extractor", "Model"]
