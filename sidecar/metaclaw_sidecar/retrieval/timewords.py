"""The time a query speaks of: "yesterday", "last week", "in May 2023", "2023年5月", "вчера", "letzte Woche"."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = (
    "january jan janvier januar enero январь января январе январ يناير",
    "february feb fevrier februar febrero февраль февраля феврале فبراير",
    "march mar mars marz marzo март марта марте مارس",
    "april apr avril abril апрель апреля апреле ابريل",
    "may mai mayo май мая мае مايو",
    "june jun juin juni junio июнь июня июне يونيو",
    "july jul juillet juli julio июль июля июле يوليو",
    "august aug aout agosto август августа августе اغسطس",
    "september sep sept septembre septiembre сентябрь сентября сентябре سبتمبر",
    "october oct octobre oktober octubre октябрь октября октябре اكتوبر",
    "november nov novembre noviembre ноябрь ноября ноябре نوفمبر",
    "december dec decembre dezember diciembre декабрь декабря декабре ديسمبر",
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
# Words for months that mean something else too; they count as months only beside a year or a day.
_AMBIGUOUS = {"may", "march", "mar", "mars", "mai", "jan", "sep", "dec"}

_WORD = r"[^\W\d_]+"
_ISO = re.compile(r"\b(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?\b")
_EASTERN = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日일号])?")
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?({_WORD})\.?,?(?:\s+(?:de\s+)?(\d{{4}}))?"
)
_MONTH_DAY = re.compile(rf"\b({_WORD})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_WORD})\.?,?\s+(?:of\s+|de\s+)?(\d{{4}})\b")
_MONTH_ONLY = re.compile(rf"\b(?:in|en|im|since|during|в|في)\s+({_WORD})\b")
_YEAR = re.compile(r"\b(?:in|en|im|since|during|seit|depuis|desde|в|с|عام|في)\s+(\d{4})\b|(\d{4})\s*[年년]")
_AGO = re.compile(r"\b(\d{1,3})\s+(day|week|month|year)s?\s+ago\b|(\d{1,3})\s*(天|周|个月|年)前")

_DAY = timedelta(days=1)
_UNITS = {"day": 1, "week": 7, "month": 30, "year": 365, "天": 1, "周": 7, "个月": 30, "年": 365}


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment up to, not including, another; seconds since the epoch."""

    start: float
    end: float


def _days(start: int, end: int) -> Callable[[datetime], tuple[datetime, datetime]]:
    return lambda today: (today + start * _DAY, today + end * _DAY)


def _week(offset: int) -> Callable[[datetime], tuple[datetime, datetime]]:
    def period(today: datetime) -> tuple[datetime, datetime]:
        monday = today - today.weekday() * _DAY + 7 * offset * _DAY
        return monday, monday + 7 * _DAY

    return period


def _month(offset: int) -> Callable[[datetime], tuple[datetime, datetime]]:
    def period(today: datetime) -> tuple[datetime, datetime]:
        months = today.year * 12 + today.month - 1 + offset
        return _month_of(months // 12, months % 12 + 1)

    return period


def _year(offset: int) -> Callable[[datetime], tuple[datetime, datetime]]:
    return lambda today: _year_of(today.year + offset)


# As folded: without accents.
_RELATIVE: tuple[tuple[str, Callable[[datetime], tuple[datetime, datetime]]], ...] = (
    (
        r"\bday before yesterday\b|\bvorgestern\b|\bavant-hier\b|\banteayer\b|\bпозавчера\b"
        r"|前天|一昨日|おととい|그저께",
        _days(-2, -1),
    ),
    (
        r"\byesterday\b|\bhier\b|\bgestern\b|\bayer\b|\bвчера\b|\bامس\b"
        r"|昨天|昨日|きのう|어제",
        _days(-1, 0),
    ),
    (
        r"\btoday\b|\baujourd'hui\b|\bheute\b|\bhoy\b|\bсегодня\b"
        r"|\bاليوم\b|今天|今日|오늘",
        _days(0, 1),
    ),
    (
        r"\blast week\b|\bsemaine derniere\b|\bletzte[rn]? woche\b|\bsemana pasada\b|\bпрошлой неделе\b|الاسبوع الماضي"
        r"|上周|上星期|先週|지난주",
        _week(-1),
    ),
    (
        r"\bthis week\b|\bcette semaine\b|\bdiese[rn]? woche\b|\besta semana\b|\bэтой неделе\b"
        r"|这周|本周|今週|이번 주",
        _week(0),
    ),
    (
        r"\blast month\b|\bmois dernier\b|\bletzte[nr]? monat\b|\bmes pasado\b|\bпрошлом месяце\b"
        r"|الشهر الماضي|上个月|先月|지난달",
        _month(-1),
    ),
    (
        r"\bthis month\b|\bce mois\b|\bdiese[nmr]? monat\b|\beste mes\b|\bэтом месяце\b"
        r"|这个月|今月|이번 달",
        _month(0),
    ),
    (
        r"\blast year\b|\bannee derniere\b|\bletzte[sn]? jahr\b|\bano pasado\b|\bпрошлом году\b"
        r"|العام الماضي|去年|작년",
        _year(-1),
    ),
    (
        r"\bthis year\b|\bcette annee\b|\bdiese[sm]? jahr\b|\beste ano\b"
        r"|\bэтом году\b|今年|올해",
        _year(0),
    ),
    (
        r"\brecently\b|\blately\b|\brecemment\b|\bneulich\b|\bkurzlich\b"
        r"|\brecientemente\b|\bнедавно\b|最近|최근",
        _days(-30, 1),
    ),
)
_RELATIVE_PATTERNS = tuple((re.compile(pattern), period) for pattern, period in _RELATIVE)


def period_of(query: str, now: datetime) -> Period | None:
    """The time the query speaks of, if it names one; days are those of `now`'s time zone."""
    text = _fold(query[:2000])
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        found = _absolute(text, today) or _relative(text, today)
        return Period(found[0].timestamp(), found[1].timestamp()) if found else None
    except (ValueError, OverflowError, OSError):
        return None  # the 31st of June, the year 9999


def _absolute(text: str, today: datetime) -> tuple[datetime, datetime] | None:
    zone = today.tzinfo or UTC
    found = _written(text, today)
    if found is None:
        return None
    year, month, day = found
    if month is None:
        start, end = _year_of(year)
    elif day is None:
        start, end = _month_of(year, month)
    else:
        start = datetime(year, month, day, tzinfo=zone)
        end = start + _DAY
    return start.replace(tzinfo=zone), end.replace(tzinfo=zone)


def _written(text: str, today: datetime) -> tuple[int, int | None, int | None] | None:
    if match := _ISO.search(text):
        return int(match[1]), int(match[2]), int(match[3]) if match[3] else None
    if match := _EASTERN.search(text):
        month = int(match[2])
        return _year_or_last(match[1], month, today), month, int(match[3]) if match[3] else None
    for match in _DAY_MONTH.finditer(text):
        if month := _MONTH_OF.get(match[2], 0):
            return _year_or_last(match[3], month, today), month, int(match[1])
    for match in _MONTH_DAY.finditer(text):
        if month := _MONTH_OF.get(match[1], 0):
            return _year_or_last(match[3], month, today), month, int(match[2])
    for match in _MONTH_YEAR.finditer(text):
        if month := _MONTH_OF.get(match[1], 0):
            return int(match[2]), month, None
    for match in _MONTH_ONLY.finditer(text):
        month = _MONTH_OF.get(match[1], 0)
        if month and match[1] not in _AMBIGUOUS:
            return _year_or_last(None, month, today), month, None
    if match := _YEAR.search(text):
        return int(match[1] or match[2]), None, None
    return None


def _relative(text: str, today: datetime) -> tuple[datetime, datetime] | None:
    if match := _AGO.search(text):
        unit = _UNITS[match[2] or match[4]]
        day = today - int(match[1] or match[3]) * unit * _DAY
        # "three weeks ago" means about then.
        slack = unit // 3 * _DAY
        return day - slack, day + slack + _DAY
    for pattern, period in _RELATIVE_PATTERNS:
        if pattern.search(text):
            start, end = period(today)
            return start.replace(tzinfo=today.tzinfo), end.replace(tzinfo=today.tzinfo)
    return None


def _year_or_last(year: str | None, month: int, today: datetime) -> int:
    """A month without a year is the last one there was."""
    if year:
        return int(year)
    return today.year if month <= today.month else today.year - 1


def _month_of(year: int, month: int) -> tuple[datetime, datetime]:
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return datetime(year, month, 1, tzinfo=UTC), datetime(*following, 1, tzinfo=UTC)


def _year_of(year: int) -> tuple[datetime, datetime]:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    plain = "".join(
        c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn" or c in "\u3099\u309a"
    )
    return unicodedata.normalize("NFC", plain)
