"""Time words."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw_sidecar.retrieval.timewords import period_of

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone(timedelta(hours=8)))  # a Wednesday


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What did I do yesterday?", "2026-06-16", "2026-06-16"),
        ("昨天我说了什么?", "2026-06-16", "2026-06-16"),
        ("先週の会議について", "2026-06-08", "2026-06-14"),
        ("what happened last week", "2026-06-08", "2026-06-14"),
        ("letzte Woche", "2026-06-08", "2026-06-14"),
        ("что было в прошлом году", "2025-01-01", "2025-12-31"),
        ("le mois dernier", "2026-05-01", "2026-05-31"),
        ("el año pasado", "2025-01-01", "2025-12-31"),
        ("three plans for May 2023", "2023-05-01", "2023-05-31"),
        ("on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("on July 4th", "2025-07-04", "2025-07-04"),
        ("2024年2月的事", "2024-02-01", "2024-02-29"),
        ("2023-05-07 的会议", "2023-05-07", "2023-05-07"),
        ("what did we do in 2019?", "2019-01-01", "2019-12-31"),
        ("10 days ago", "2026-06-07", "2026-06-07"),
        ("2 weeks ago", "2026-06-01", "2026-06-05"),
    ],
)
def test_a_query_names_its_days(query: str, first: str, last: str) -> None:
    period = period_of(query, NOW)
    assert period is not None
    start = datetime.fromtimestamp(period.start, NOW.tzinfo)
    end = datetime.fromtimestamp(period.end, NOW.tzinfo)
    assert str(start.date()) == first
    assert str((end - timedelta(seconds=1)).date()) == last


@pytest.mark.parametrize("query", ["may I ask you something", "march on", "my number is 5551234", "31 June 2023", ""])
def test_other_words_name_no_time(query: str) -> None:
    assert period_of(query, NOW) is None


@given(st.text())
def test_any_query_is_read_without_an_error(query: str) -> None:
    period = period_of(query, datetime(2026, 1, 1, tzinfo=UTC))
    assert period is None or period.start < period.end
