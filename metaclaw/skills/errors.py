"""What can go wrong with skills.

SkillError
├── FormatError     a SKILL.md that can't be read, or a skill that may not be written
├── BadName         a name that is not one plain folder name
├── NotFound        no skill of that name, or no such version
├── Exists          a skill of that name is there already
├── Refused         a change the library does not make: a built-in file, a person's skill, a screened text
└── HistoryError    the folder's git history can't be read or written
"""

from __future__ import annotations


class SkillError(Exception):
    """Base of all errors about skills; the message is one line for the person."""


class FormatError(SkillError):
    """A SKILL.md that can't be read, or a skill that breaks the specification."""


class BadName(SkillError):
    """A skill name that is not lower-case letters, digits and single hyphens."""


class NotFound(SkillError):
    """There is no such skill, or no such version of it."""


class Exists(SkillError):
    """There is such a skill already."""


class Refused(SkillError):
    """A change the library does not make."""


class HistoryError(SkillError):
    """The history of the skill folder can't be read or written."""
