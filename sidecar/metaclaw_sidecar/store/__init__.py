"""The truth: one SQLite file with memories, versions, raw turns, jobs and vectors."""

from .corpus import Corpus
from .database import Database, Transaction

__all__ = ["Corpus", "Database", "Transaction"]
