"""How memory changes: facts are applied, restated, replaced; the store is tidied, and every step can be undone."""

from .applying import Applied, apply, keep_verbatim
from .consolidation import Outcome, consolidate, sessions_since_last, undo
from .storing import store

__all__ = ["Applied", "Outcome", "apply", "consolidate", "keep_verbatim", "sessions_since_last", "store", "undo"]
