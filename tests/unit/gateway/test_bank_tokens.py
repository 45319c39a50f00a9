"""The counts that are shipped are those of the skills that are shipped."""

from __future__ import annotations

from metaclaw.gateway.bank_tokens import counted, shipped


def test_the_shipped_counts_are_current() -> None:
    assert shipped() == counted(), "run `python -m metaclaw.gateway.bank_tokens`"
