"""What people ask finds the built-in skill for it, and small talk finds none, at the default settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw.config import Settings
from metaclaw.skills import Library, Ranker

ASKED = """
my unit test passes locally but fails on CI every third run | flaky-tests
why does this stack trace say NoneType has no attribute | reading-tracebacks
can you look over my pull request | code-review
I accidentally did git reset --hard and lost my commit | git-recovery
postgres query takes 30 seconds | sql-queries
summarize this 40 page report | summarising-documents
got an SMS from my bank with a strange link | suspicious-messages
make a cron job which backs up the db at night | scheduled-jobs tested-backups
deadlock in my python threads | concurrency-bugs
translate this contract to German | faithful-translation
is the difference in our A/B test significant? | statistics-pitfalls
excel formula to look up a price | spreadsheet-formulas
regex to extract phone numbers | regular-expressions
remove duplicates from customer table | cleaning-data
帮我写一封邮件给老板请假 | clear-emails
数据库查询太慢了怎么优化 | sql-queries slow-code-profiling
翻译成英文 | faithful-translation
会議の議事録を書いて | meeting-notes
SQLのクエリが遅い | sql-queries
이 코드 리뷰해줘 | code-review
Übersetze diesen Text ins Französische | faithful-translation
résume ce document | summarising-documents
scrape product prices from a website | polite-scraping
add a login endpoint to the REST api | api-design
leaked my api key on github | handling-secrets
refactor this 300 line function | safe-refactoring
draw a chart of sales per month | honest-charts
the python process eats 8 GB of memory, why? | slow-code-profiling
npm install complains about peer dependency conflict | dependency-upgrades
write a bash script that renames all jpg files | shell-scripts
check this php code for sql injection | security-review sql-queries
which IAM policy does this lambda need | least-privilege
review the literature on sleep and memory | literature-survey
is it true that vitamin C prevents colds | fact-checking
here is a csv, tell me what's in it | exploring-tables
minutes of yesterday's call, transcript attached | meeting-notes
I must tell a client that we will miss the deadline | difficult-messages clear-emails
slides for the board meeting on Monday | slide-decks
stripe webhook arrives twice | webhooks
how do I convert this timestamp to Tokyo time | dates-and-time-zones
写一个正则表达式匹配手机号 | regular-expressions
帮我做一个下周的旅行计划 | trip-planning
这段代码有安全漏洞吗 | security-review
帮我总结这篇文章 | summarising-documents
git rebase 搞砸了怎么恢复 | git-recovery
"""
IDLE = """
hello | thanks! | ok go on | what's the weather today | tell me a joke | 好的 | 谢谢 | 继续 | おはよう | how are you
who are you | I like pizza | nice work | yes please do that | Guten Morgen | play some music | my cat is sick
what is the capital of France | turn on the light | see you tomorrow | merci beaucoup | 안녕하세요 | 你好 | lol
that's great, thank you so much | no, the other one | sounds good | hmm | who won the match | I'm tired
""".replace("\n", "|")


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder: Path = tmp_path_factory.mktemp("library")
    return Library(folder).ranker()


def recalled(ranker: Ranker, text: str) -> list[str]:
    skills = Settings().skills
    matches = ranker.rank(text, general=skills.top_k, specific=skills.task_specific_top_k, min_score=skills.min_score)
    return [match.skill.name for match in matches]


def test_most_of_what_people_ask_recalls_the_skill_for_it(ranker: Ranker) -> None:
    pairs = [line.split(" | ") for line in ASKED.strip().splitlines()]
    missed = [text for text, names in pairs if not set(names.split()) & set(recalled(ranker, text)[:3])]
    assert len(missed) <= len(pairs) * 0.15, missed


def test_small_talk_recalls_nothing(ranker: Ranker) -> None:
    idle = [text.strip() for text in IDLE.split("|") if text.strip()]
    assert len(idle) >= 30
    assert [text for text in idle if recalled(ranker, text)] == []
