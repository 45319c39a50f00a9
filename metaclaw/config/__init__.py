"""The configuration: what can be set, what is set, and who said so."""

from metaclaw.config.file import ConfigFile
from metaclaw.config.loader import Loaded, load
from metaclaw.config.models import Settings
from metaclaw.config.paths import expand, home, make_home
from metaclaw.config.problems import ConfigError, Problem
from metaclaw.config.secrets import Secrets

__all__ = [
    "ConfigError",
    "ConfigFile",
    "Loaded",
    "Problem",
    "Secrets",
    "Settings",
    "expand",
    "home",
    "load",
    "make_home",
]
