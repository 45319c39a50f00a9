"""The memory service of MetaClaw; runs beside the gateway or alone."""

__version__ = "0.1.0"
