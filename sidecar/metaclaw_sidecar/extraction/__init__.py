"""Draws memories from turns with a language model, and checks everything it says."""

from .extractor import Extraction, Extractor, Fact, LeanExtractor
from .model import Model

__all__ = ["Extraction", "Extractor", "Fact", "LeanExtractor", "Model"]
