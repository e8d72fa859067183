"""One rule of a split, as a person writes it: "social + video <= 40%", "social >= 0.5 * video", "north >= 500".

A rule compares two sums of arms, shares of the budget and amounts. `read_rule` makes of its text a linear condition,

    Σ coefficient_i · amount_i  ≤ , ≥ or =  share · budget + amount,

and a text in one way of writing, which means the same whatever arms are added later.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

from apportion._common import parsing, validation
from apportion.errors import InvalidValue, UnknownName

EXAMPLE: Final = "social + video <= 40%"
EXAMPLES: Final = "'social + video <= 40%', 'north + south >= 500' or 'social >= 0.5 * video'"
LONGEST: Final = 10_000
"""Characters of a rule: it may name some hundred arms."""
LONGEST_SHOWN: Final = 90
"""Of a rule inside of a sentence."""

_SIGNS: Final = {
    "<=": "<=", "≤": "<=", "=<": "<=", "<": "<=", "at most": "<=", ">=": ">=", "≥": ">=", "=>": ">=", ">": ">=",
    "at least": ">=", "==": "=", "=": "=", "exactly": "=",
}  # fmt: skip
_SIGN = re.compile(r"<=|=<|>=|=>|==|[≤≥<>=]|\s(?:is\s+)?(at most|at least|exactly)\s", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]+)"|\'([^\']+)\'')
_CHANGE = re.compile(r"\s*change\s+of\s+", re.IGNORECASE)
_NUMBER = re.compile(r"(?:[€$£]\s?)?\d[\d.,]*(?:\s?[%€$£])?")
# Where a name ends that is not quoted; a hyphen inside of a name is part of it, a minus has blanks around it.
_END = re.compile(r"[+*×()]|\s[-−]\s")
_PLAIN_NAME = re.compile(r"[^\W\d_][\w.&/:’-]*(?: [\w.&/:’-]+)*")
_UNIT = re.compile(r"\s+([^\W\d_]+)\s*")


class Rule(NamedTuple):
    """A rule, read: Σ coefficient · amount of the arms is at most, at least or exactly share · budget + amount."""

    text: str
    """As it is kept: names that need it in quotation marks, signs as <=, >= and =."""
    terms: Mapping[str, float]
    """Coefficients by arm name, none 0; at least one is above 0."""
    sign: str
    share: float
    amount: float
    change: bool = False
    """Whether it limits how far the sum moves from the split before, instead of the sum itself."""

    @property
    def shown(self) -> str:
        """As people read it.

        >>> read_rule("social + video <= 40%", ("social", "video")).shown
        'social + video ≤ 40%'
        """
        return re.sub(r" (<=|>=) ", lambda found: " ≤ " if found[1] == "<=" else " ≥ ", self.text)

    @property
    def brief(self) -> str:
        """As people read it inside of a sentence: of many arms the first."""
        shown = self.shown
        if len(shown) <= LONGEST_SHOWN:
            return shown
        head, sign, tail = re.split(r"( [≤≥=] )", shown, maxsplit=1)
        return f"{head[: LONGEST_SHOWN // 2].rstrip(' +-*')} …{sign}{tail if len(tail) <= LONGEST_SHOWN else '…'}"

    def rests(self, active: Collection[str]) -> bool:
        """Whether it says nothing now: all arms on one of its sides are paused or removed."""
        sides = ({name for name, value in self.terms.items() if value * sign > 0.0} for sign in (1.0, -1.0))
        return any(side and side.isdisjoint(active) for side in sides)


def read_rule(text: str, arms: Collection[str]) -> Rule:
    """The rule in a text, for these arms.

    >>> rule = read_rule("social + video at most 40%", ("search", "social", "video"))
    >>> rule.text, dict(rule.terms), rule.sign, rule.share
    ('social + video <= 40%', {'social': 1.0, 'video': 1.0}, '<=', 0.4)
    >>> read_rule("social <= half", ("search", "social"))
    Traceback (most recent call last):
    apportion.errors.UnknownName: Rule 'social <= half' names 'half', which is not one of the arms search, social.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or not text.isprintable():
        raise validation.refuse("rules", f"texts such as {EXAMPLES}", text)
    plain = " ".join(text.split())
    known = set(arms)
    try:
        return _Reader(plain, known, greedy=False).rule()
    except (InvalidValue, UnknownName):
        try:  # names such as "Search (brand)" need no quotation marks where there is no other way to read them
            return _Reader(plain, known, greedy=True).rule()
        except (InvalidValue, UnknownName):
            pass
        raise


class _Sum(NamedTuple):
    """A sum of arms, shares of the budget and amounts; or a bare number, which may yet be a factor."""

    terms: dict[str, float]
    share: float = 0.0
    amount: float = 0.0
    factor: float | None = None

    def times(self, factor: float) -> "_Sum":
        terms = {name: factor * value for name, value in self.terms.items()}
        return _Sum(terms, factor * self.share, factor * self.amount)

    def plus(self, other: "_Sum") -> "_Sum":
        terms = dict(self.terms)
        for name, value in other.terms.items():
            terms[name] = terms.get(name, 0.0) + value
        return _Sum(terms, self.share + other.share, self.amount + other.amount)


class _Reader:
    """Reads a text from left to right, and writes it down again in one way."""

    def __init__(self, text: str, arms: set[str], greedy: bool) -> None:
        self.given, self.text, self.at, self.arms, self.written = text, text, 0, arms, ""
        self.greedy = sorted(filter(_needs_quotes, arms), key=len, reverse=True) if greedy else []

    def rule(self) -> Rule:
        left, sign, right = self._sides()
        change = None if self._named(left) else _CHANGE.match(left)
        first = self._side(left[change.end() :] if change else left)
        written, self.written = self.written, ""
        second = self._side(right)
        text = f"{'change of ' if change else ''}{written} {sign} {self.written}"
        both = first.plus(second.times(-1.0))
        terms = {name: value for name, value in both.terms.items() if value != 0.0}
        share, amount = 0.0 - both.share, 0.0 - both.amount
        if not terms:
            raise InvalidValue(f"Rule {self.given!r} must name an arm, as in {EXAMPLES}.")
        if change and (sign != "<=" or second.terms or min(terms.values()) < 0.0 or max(share, amount) <= 0.0):
            raise InvalidValue(
                f"Rule {self.given!r} must say how far arms may move at once, as in "
                "'change of social + video <= 10%'."
            )
        if max(terms.values()) < 0.0:
            terms = {name: -value for name, value in terms.items()}
            share, amount, sign = 0.0 - share, 0.0 - amount, {"<=": ">=", ">=": "<=", "=": "="}[sign]
        return Rule(text, terms, sign, share, amount, bool(change))

    def _named(self, text: str) -> bool:
        return text.strip() in self.arms

    def _sides(self) -> tuple[str, str, str]:
        """The text before and after its one sign; one inside of quotation marks, or of a name, is none."""
        hidden = _QUOTED.sub(lambda found: "_" * len(found[0]), self.text)
        for name in self.greedy:
            hidden = hidden.replace(name, "_" * len(name))
        found = list(_SIGN.finditer(hidden))
        if len(found) != 1:
            raise InvalidValue(
                f"Rule {self.given!r} must have one of <=, >= and = between two sums, as in {EXAMPLES}."
            )
        (sign,) = found
        name = (sign[1] or sign[0]).lower()
        return self.text[: sign.start()], _SIGNS[name], self.text[sign.end() :]

    def _side(self, text: str) -> _Sum:
        self.text, self.at = text.strip(), 0
        found = self._sum()
        if self.at < len(self.text):
            self._stop()
        return found

    def _sum(self) -> _Sum:
        found = self._whole(self._product())
        while (sign := self._next(r"\s*([+\-−])\s*")) is not None:
            self.written += f" {'+' if sign == '+' else '-'} "
            other = self._whole(self._product())
            found = found.plus(other if sign == "+" else other.times(-1.0))
        return found

    def _product(self) -> _Sum:
        found = self._operand()
        while (sign := self._next(r"\s*([*×]|of(?=[\s(\"']))\s*")) is not None:
            self.written += " of " if sign.lower() == "of" else " * "
            other = self._operand()
            if found.factor is None and other.factor is None:
                raise InvalidValue(f"Rule {self.given!r} must not multiply arms with each other.")
            number, rest = (found, other) if found.factor is not None else (other, found)
            factor = number.factor if number.factor is not None else 1.0
            found = rest.times(factor)._replace(factor=None if rest.factor is None else rest.factor * factor)
        return found

    def _operand(self) -> _Sum:
        self._next(r"(\s*)")
        if self._next(r"(\()\s*") is not None:
            self.written += "("
            found = self._sum()
            if self._next(r"\s*(\))") is None:
                self._stop()
            self.written += ")"
            return found
        if (quoted := _QUOTED.match(self.text, self.at)) is not None:
            self.at = quoted.end()
            return self._arm(quoted[1] or quoted[2])
        for name in self.greedy:
            after = self.text[self.at + len(name) :]
            if self.text.startswith(name, self.at) and (not after or after[0] in " +*×()"):
                self.at += len(name)
                return self._arm(name)
        end = _END.search(self.text, self.at)
        run = self.text[self.at : end.start() if end else len(self.text)].rstrip()
        number = None if run in self.arms else _NUMBER.match(run)
        if number is not None:
            return self._number(run, number)
        if not run:
            self._stop()
        self.at += len(run)
        return self._arm(run)

    def _number(self, run: str, found: re.Match[str]) -> _Sum:
        """A number, with what comes after it: nothing, a unit, or `of` and an arm."""
        typed, rest = found[0].replace(" ", ""), run[found.end() :]
        self.at += found.end()
        value = parsing.number(typed, f"the number in rule {self.given!r}")
        self.written += typed
        if not rest or re.match(r"\s+of\b", rest, re.IGNORECASE):
            percent = typed.endswith("%")
            return _Sum({}, share=value, factor=value) if percent else _Sum({}, amount=value, factor=value)
        unit = _UNIT.fullmatch(rest)
        if unit is None or typed.endswith("%") or unit[1] in self.arms:
            meant = f" Did you mean {typed} * {rest.strip()}?" if rest.strip() in self.arms else ""
            raise InvalidValue(f"Rule {self.given!r} has {run!r}, which is no number and no arm.{meant}")
        self.at += len(rest)
        self.written += f" {unit[1]}"
        return _Sum({}, amount=value)

    def _arm(self, name: str) -> _Sum:
        if name not in self.arms:
            known = ", ".join(sorted(self.arms)[:20])
            raise UnknownName(f"Rule {self.given!r} names {name!r}, which is not one of the arms {known}.")
        self.written += quoted_name(name)
        return _Sum({name: 1.0})

    def _whole(self, found: _Sum) -> _Sum:
        """A part of a sum: a bare number is an amount or, with %, a share; below 1 it could be meant as either."""
        if found.factor is not None and found.amount and 0.0 < abs(found.amount) < 1.0:
            share = f"{100.0 * found.amount:.10g}%"
            raise InvalidValue(
                f"The {found.amount:g} in rule {self.given!r} can be read in two ways; write {share} for a share of "
                f"the budget, or '{found.amount:g} units' for an amount."
            )
        return found._replace(factor=None)

    def _next(self, pattern: str) -> str | None:
        found = re.compile(pattern, re.IGNORECASE).match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[1]

    def _stop(self) -> NoReturn:
        rest = self.text[self.at :].strip()
        where = f"at {rest[:40]!r}" if rest else "at its end"
        raise InvalidValue(f"Rule {self.given[:80]!r} cannot be read {where}; write it as in {EXAMPLES}.")


def write_rule(arms: Sequence[str], sign: str, end: str) -> str:
    """The text of a rule about a sum of arms, as a form asks for it; `end` is what they get together: 40%, 500.

    >>> write_rule(["social", "A+B"], "<=", "40%")
    'social + "A+B" <= 40%'
    """
    return f"{' + '.join(map(quoted_name, arms))} {sign} {end}"


def quoted_name(name: str) -> str:
    """A name as it is written in a rule: in quotation marks where it could be read as something else.

    >>> quoted_name("paid social"), quoted_name("Search (brand)")
    ('paid social', '"Search (brand)"')
    """
    if not _needs_quotes(name):
        return name
    if '"' in name and "'" in name:
        raise InvalidValue(f"A rule cannot name '{name}', which has both kinds of quotation marks.")
    return f'"{name}"' if '"' not in name else f"'{name}'"


def _needs_quotes(name: str) -> bool:
    reserved = re.search(r"(^|\s)(of|at most|at least|exactly|is)(\s|$)", name, re.IGNORECASE)
    return _PLAIN_NAME.fullmatch(name) is None or reserved is not None
