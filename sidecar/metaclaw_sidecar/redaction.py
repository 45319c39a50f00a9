# ruff: noqa: E501  (a pattern broken into pieces is harder to check than a long one)
"""Secrets in what people say: found by shape, and replaced before anything is written or shown."""

from __future__ import annotations

import re

HIDDEN = "[redacted]"

# A pattern is tried only where one of its words stands in the text: looking for a word costs a hundredth of a search.
_SHAPES = tuple(
    (words, re.compile(pattern))
    for words, pattern in (
        (
            ("PRIVATE KEY",),
            r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,20000}?(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        ),
        (
            ("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ABIA", "ACCA"),
            r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}\b",
        ),
        (
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{30,255})",
        ),
        (
            ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"),
            r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,200}",
        ),
        (("sk-", "rk-", "tml-"), r"\b(?:sk|rk|ark|tml)-(?:[a-z]{2,12}[-_]){0,3}[A-Za-z0-9_-]{16,200}"),
        (("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
        (("ya29.", "GOCSPX-"), r"\bya29\.[A-Za-z0-9_-]{20,300}|\bGOCSPX-[A-Za-z0-9_-]{20,60}"),
        (("xox", "xapp-"), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,200}|\bxapp-\d-[A-Za-z0-9-]{20,200}"),
        (
            ("hooks.slack.com/", "/api/webhooks/"),
            r"https://(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)\S{20,200}",
        ),
        (("sk_", "rk_", "pk_", "whsec_"), r"\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,200}\b"),
        (("SK", "AC"), r"\b(?:SK|AC)[0-9a-f]{32}\b"),
        (("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}"),
        (("npm_", "pypi-"), r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,300}"),
        (("hf_",), r"\bhf_[A-Za-z0-9]{30,60}\b"),
        (("eyJ",), r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
        ((":AA",), r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,36}\b"),
        (
            (
                "dop_v1_",
                "dapi",
                "shpat_",
                "shpca_",
                "shppa_",
                "shpss_",
                "lin_api_",
                "ntn_",
                "secret_",
                "r8_",
                "gsk_",
                "xai-",
                "pplx-",
                "tvly-",
                "key-",
                "AGE-SECRET-KEY-1",
                "LTAI",
                "AKID",
            ),
            r"\b(?:dop_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{32,60}|ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{40,60}|r8_[A-Za-z0-9]{30,50}|gsk_[A-Za-z0-9]{40,60}|xai-[A-Za-z0-9]{60,100}|pplx-[A-Za-z0-9]{40,60}|tvly-[A-Za-z0-9_-]{20,60}|key-[0-9a-f]{32}|AGE-SECRET-KEY-1[A-Z0-9]{50,60}|LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{32})\b",
        ),
        (("AccountKey=",), r"(?<=AccountKey=)[A-Za-z0-9+/=]{40,120}"),
        (("://",), r"(?<=://)[^\s/:@<>{}$]{1,100}:[^\s/@<>{}$]{3,200}(?=@)"),
        (("bearer ",), r"(?i)(?<=\bbearer )[A-Za-z0-9_.~+/-]{20,2000}={0,2}"),
        (("basic ",), r"(?i)(?<=\bbasic )[A-Za-z0-9+/]{16,400}={0,2}"),
    )
)
_SAID_ANYHOW = ("bearer ", "basic ")  # words whose case doesn't count
_NAMES = (
    "api", "access", "secret", "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "token", "pin", "cvv",
    "密码", "口令", "密钥", "パスワード", "暗証番号", "비밀번호", "mot de", "contrase", "kennwort", "парол",
)  # fmt: skip
# `password: hunter22`, `my pin is 4821`, `密码是 …`: the name stays, the value goes.
_NAMED = re.compile(
    r"(?i)(?P<name>(?:\b(?:[a-z0-9_-]{0,40}[_-])?(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|client[ _-]?secret"
    r"|password|passwd|passphrase|passcode|pwd|auth[ _-]?token|access[ _-]?token|refresh[ _-]?token|token|pin(?: code)?|cvv)"
    r"|密码|口令|密钥|パスワード|暗証番号|비밀번호|mot de passe|contraseña|passwort|kennwort|пароль)"
    r"[\"'`]?(?:\s{0,4}(?:[:=：]|:=|=>)\s{0,4}|\s{1,4}(?:is|was|ist|est|es|lautet)\s{1,4}|\s{0,4}(?:是|为|は|는|은)\s{0,4})[\"'`“「]?)"
    r"(?P<value>[^\s\"'`”」,;，。）)]{4,200})"
)
# Values that only look like one: prose after "token is", placeholders, environment lookups.
_WORD = re.compile(r"[a-z]+[.!?:]?|[A-Z][a-z]+[.!?:]?")
_PLACEHOLDER = re.compile(
    r"(?i)[<\[{$%(]|\.\.\.|…|\*{3}|x{4}|your[_-]|example|placeholder|redacted|os\.environ|getenv|process\.env"
)
_CARD = re.compile(r"(?<![\d.-])(?:\d[ -]?){13,19}(?![\d-])")


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`. Doing it twice changes nothing."""
    folded = text.casefold()
    for words, shape in _SHAPES:
        where = folded if words[0] in _SAID_ANYHOW else text
        if any(word in where for word in words):
            text = shape.sub(HIDDEN, text)
    if any(name in folded for name in _NAMES):
        text = _without_named(text)
    return _CARD.sub(_hide_card, text) if any(mark.isdigit() for mark in text) else text


def _without_named(text: str) -> str:
    """Without the values of named secrets. A value that is none may be the name of the next: "is password: …"."""
    parts: list[str] = []
    done = at = 0
    while match := _NAMED.search(text, at):
        value, at = match["value"], match.start("value")
        ordinary = _WORD.fullmatch(value) and not re.search(r"[:=：]\s*[\"'`“「]?$", match["name"])
        if not (ordinary or _PLACEHOLDER.match(value)):
            parts += (text[done:at], HIDDEN)
            done = at = match.end()
    return "".join((*parts, text[done:]))


def _hide_card(match: re.Match[str]) -> str:
    digits = [int(mark) for mark in match[0] if mark.isdigit()]
    total = sum(digit if i % 2 == 0 else sum(divmod(digit * 2, 10)) for i, digit in enumerate(reversed(digits)))
    if total % 10 or len(set(digits)) < 3:
        return match[0]
    return HIDDEN + (" " if match[0][-1] == " " else "")
