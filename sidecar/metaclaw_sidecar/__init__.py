"""The memory service of MetaClaw; runs beside the gateway or alone."""
