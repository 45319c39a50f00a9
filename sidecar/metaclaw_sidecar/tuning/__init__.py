"""Retrieval settings that prove themselves: measured by replay on a copy of the store, put in force, taken back."""

from .policy import Policy
from .tuner import Tuner
from .verdict import Verdict, judge

__all__ = ["Policy", "Tuner", "Verdict", "judge"]
