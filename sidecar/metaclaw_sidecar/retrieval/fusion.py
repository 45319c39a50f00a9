"""How the signals of one search become one score.

Each signal has a scale of its own that does not depend on how large the scope is: the lexical ones say how much of
the query's weight was found, the dense one is a centred cosine. Their weighted sum is the evidence; evidence decides
what is relevant at all. For the order, a short raw turn ("Wow, great!") stands back: it seldom holds what is asked for.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .columns import Floats
from .lexical import LexicalScores

WINDOW_WEIGHT = 2.5
PASSAGE_WEIGHT = 3.0
DENSE_WEIGHT = 10.0
TIME_BONUS = 3.0
SHORT_TURN = 3.0
"""What an empty turn would lose; one of `FULL_TERMS` terms loses nothing."""
FULL_TERMS = 24
ALONE = 1.9
"""Without the dense signal words have to carry the whole evidence."""
UNKNOWN_ALONE = 0.5
"""And words that nothing here has count for so much: a question is asked in other words than its answer."""
HALF = 6.0
"""Evidence that makes about 0.63 of the score."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Per row: what speaks for it, and where it stands in the order."""

    strength: Floats
    order: Floats


def fuse(
    lexical: LexicalScores | None,
    dense: Floats | None,
    in_time: npt.NDArray[np.bool_] | None,
    shortness: Floats,
) -> Evidence:
    """Weigh the signals there are; all arrays have one entry per row."""
    strength = np.zeros(len(shortness), np.float32)
    if lexical is not None:
        weight = 1.0 if dense is not None else ALONE / (1 - (1 - UNKNOWN_ALONE) * lexical.unknown)
        strength += weight * (WINDOW_WEIGHT * lexical.window + PASSAGE_WEIGHT * lexical.passage)
    if dense is not None:
        strength += DENSE_WEIGHT * dense
    if in_time is not None:
        strength += TIME_BONUS * in_time
    return Evidence(strength, strength - SHORT_TURN * shortness)


def shortness(lengths: Floats, is_turn: npt.NDArray[np.bool_]) -> Floats:
    """0 for a memory or a full turn, 1 for a turn without a term."""
    short: Floats = (1 - np.log1p(np.minimum(lengths, FULL_TERMS)) / np.log1p(FULL_TERMS)).astype(np.float32) * is_turn
    return short


def squash(evidence: float) -> float:
    """Evidence as a score, 0..1."""
    return float(1 - np.exp(-max(evidence, 0.0) / HALF))


def unsquash(score: float) -> float:
    """The evidence a score stands for."""
    return float(-HALF * np.log1p(-min(max(score, 0.0), 0.999)))
