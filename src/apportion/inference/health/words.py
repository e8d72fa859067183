"""Findings in sentences that need no statistics, with the person's own names, amounts and unit."""

import math
import shlex
from collections.abc import Mapping, Sequence

import numpy as np

from apportion._common.formatting import counted, one_of, readable
from apportion.inference.fit.assumptions import Evidence
from apportion.inference.fit.likelihood import Floats
from apportion.inference.fit.words import HARDLY, assumption
from apportion.inference.health.findings import Finding, Handling
from apportion.inference.health.movement import HALF_LIVES
from apportion.inference.health.observations import Observations
from apportion.inference.health.outliers import Slip

_NAMED = 3  # so many rows or arms are named, the others counted


def summary(findings: int, seen: Observations, table: Observations, enough: bool) -> str:
    """How much was looked at, and whether anything was found."""
    if not seen.length:
        return "No results yet: nothing to check."
    left_out = table.earlier or table.length > seen.length
    arms = len(seen.history.names)
    fewer = f" of the {counted(arms, 'arm')} with most results" if arms < len(table.history.names) else ""
    looked = f"{'the last ' if left_out else ''}{counted(seen.length, 'period')} with results{fewer}"
    if not enough:
        return f"Only {looked} so far: too few to check for more than typing slips and untried amounts."
    return f"Checked {looked}: {'nothing unusual' if not findings else counted(findings, 'finding')}."


def outliers(slips: Sequence[Slip], seen: Observations, how: Handling) -> Finding:
    """Numbers that look like typing slips."""
    named = slips[:_NAMED]
    more = f" And {counted(len(slips) - _NAMED, 'more')[:-1]} more." if len(slips) > _NAMED else ""
    one = len(slips) == 1
    told = " ".join(_slip(slip, seen, how) for slip in named)
    counts = "it counts" if one else "they count"
    if how.robust:
        done = f"Outliers are trimmed, so {'it hardly counts' if one else 'they hardly count'} in a split."
    else:
        done = f"For now {counts} like any other result; only the other checks leave {'it' if one else 'them'} out."
    first = named[0]
    arm, period = seen.history.names[seen.history.codes[first.row]], int(seen.periods[first.row])
    advice = f"Correct {'it' if one else 'them'} in your file if {'it is a slip' if one else 'they are slips'}."
    if how.name is not None:
        advice = f"If {'it is a slip' if one else 'they are slips'}, amend ticket {period}."
        advice += "" if how.robust else " If such results are real, let outliers be trimmed, in the settings."
    title = "A number that looks like a typing slip" if one else "Numbers that look like typing slips"
    rows = [slip.row for slip in slips]
    return Finding(
        "outlier", "warning", title, f"{told}{more} One such number can turn a split around.", done, advice,
        arms=tuple(dict.fromkeys(seen.history.names[code] for code in seen.history.codes[rows])),
        periods=tuple(dict.fromkeys(seen.periods[rows].tolist())),
        command=_command(how, "amend", f"{period} {_intended(first, arm, seen)}"),
    )  # fmt: skip


def _slip(slip: Slip, seen: Observations, how: Handling) -> str:
    arm, period = seen.history.names[seen.history.codes[slip.row]], int(seen.periods[slip.row])
    where = f"ticket {period}" if seen.history.lines is None else f"line {int(seen.history.lines[slip.row])}"
    value, usual = readable(slip.value), readable(_rounded(slip.usual))
    if slip.what == "amount":
        compared = f"{usual} was advised" if slip.certain else f"about {usual} usually brings such a result"
        return f"{arm} in {where}: {value}{_unit(how)} spent, where {compared}."
    back = "cost" if how.minimise else "came back"
    return f"{arm} in {where}: {value} {back}, where about {usual} is usual."


def _intended(slip: Slip, arm: str, seen: Observations) -> str:
    """What to amend: the number with as many zeros as are usual."""
    times = abs(slip.value / slip.usual) if slip.usual and slip.value else 1.0
    likely = slip.value / 10 ** round(math.log10(times))
    name, outcome = shlex.quote(arm), float(seen.history.outcomes[slip.row])
    return f"{name}={likely:g}" if slip.what == "outcome" else f"{name}={outcome:g} --spent {name}={likely:g}"


def untried_amounts(far: Mapping[str, tuple[float, float]], how: Handling) -> Finding:
    """Amounts of the open split that are far beyond what was tried."""
    arms = sorted(far, key=lambda arm: -far[arm][0])
    told = "; ".join(
        f"{arm} {readable(far[arm][0])}{_unit(how)}, where the most with a known result is {readable(far[arm][1])}"
        for arm in arms[:_NAMED]
    )
    more = f"; and {len(arms) - _NAMED} more" if len(arms) > _NAMED else ""
    done = "No limit on growth is set: the amount follows from smaller ones, as if returns went on like that."
    advice = "Spend less on it this time and record what was really spent"
    advice += (
        ", and set the limit on growth to 2 in the settings." if how.growth is None else ", or widen the bounds."
    )
    if how.growth is not None:
        done = "The limit on growth could not hold, as the bounds leave no other way."
    return Finding(
        "untried-amounts", "warning", "Amounts far beyond what was tried",
        f"The open split gives {told}{more}. What so much brings is a guess.", done, advice, arms=tuple(arms),
        command=_command(how, "settings", "--growth 2") if how.growth is None else "",
    )  # fmt: skip


def bent_returns(evidence: Evidence, how: Handling, moving: bool) -> Finding:
    """More money on an arm returns less per unit; `moving`: compared within short times only, as returns move."""
    c = evidence.effect
    if c < HARDLY:
        return Finding(
            "bent-returns", "warning", "Results hardly depend on the amount",
            "An arm brings about the same whether it gets little or much.",
            "Splits follow the amounts all the same.",
            "Ask what really brings these results, or whether less was spent when more was to be had.",
            _numbers("proportional returns", evidence),
        )  # fmt: skip
    advice = command = ""
    if "c" in how.learns:
        done = f"{how.policy} learns this from the results, and spreads the budget over the arms accordingly."
    elif how.c < 1.0:
        done = f"The campaign is run with diminishing returns (c = {how.c:g}): doubling brings {2**how.c:.1f} times."
    else:
        policy = how.policy or "A policy with c = 1"
        done = f"{policy} takes twice the amount to bring twice as much, so it gives the leader too much."
        advice = f"Choose a policy for diminishing returns: Recommended, with c = {c:.2g}."
        command = _command(how, "settings", f"--policy Recommended --c {c:.2g}")
    return Finding(
        "bent-returns", "warning" if advice else "note", "Returns diminish",
        f"{'At any one time doubling' if moving else 'Doubling'} what an arm gets brings about {2**c:.1f} times as "
        "much, not twice.", done, advice,
        _numbers("proportional returns", evidence), command=command,
    )  # fmt: skip


def drift(seen: Observations, how: Handling, moved: Evidence, apart: Evidence, half_life: float) -> Finding:
    """Returns that move, each arm by itself (or nobody can tell)."""
    arm, first, last = _largest_move(seen)
    told = "The arms do not move alike, so the best one may change." if apart.holds is False else (
        "Too few arms were tried side by side to tell whether all arms move together."
    )  # fmt: skip
    # One memory only: that which the policy goes by, where it learns one.
    span = _span(max(round(how.memory), 1) if how.memory else half_life, seen)
    memory = f" What was seen {span} ago is worth half of what is seen now." if span else ""
    moved_by = f"{_level(arm, first, how)} in the earliest part of the time and {readable(last)} in the latest."
    advice = command = ""
    if "drift" in how.learns:
        done = f"{how.policy} learns how fast returns move, and lets old results fade accordingly."
    elif how.half_life is not None or how.window is not None:
        done = (
            f"Results count half after {how.half_life:g} periods." if how.half_life is not None
            else f"Only results of the last {how.window} periods count."
        )  # fmt: skip
    else:
        done = "All results count alike, however old: splits follow slowly, and the likely ranges are too narrow."
        periods = half_life if math.isfinite(half_life) else HALF_LIVES[1]
        advice = f"Let old results fade: set a half-life of {periods:g} periods."
        command = _command(how, "settings", f"--half-life {periods:g}")
    return Finding(
        "drift", "warning" if advice else "note", "Returns move over time", f"{moved_by} {told}{memory}", done,
        advice, _numbers("no drift", moved), (arm,), command=command,
    )  # fmt: skip


def swings(moved: Floats, how: Handling) -> Finding:
    """Splits that go to and fro: `moved` has the parts of the budget."""
    return Finding(
        "swings", "note", "Splits swing to and fro",
        f"In the last {len(moved) + 1} splits {100 * float(moved.mean()):.0f}% of the budget went to another arm "
        "from one split to the next, on average, and most of it back again.",
        "Splits follow the newest results, and arms that are about level trade places.",
        "If so much change is hard to carry out, set a change limit: the most that a share may move from one split "
        "to the next.",
        command=_command(how, "settings", "--change 0.1"),
    )  # fmt: skip


def season(seen: Observations, how: Handling, moved: Evidence) -> Finding:
    """All arms rise and fall together."""
    levels = [max(each) / min(each) for _, each in seen.returns() if min(each) > 0]
    more = f"{100 * (float(np.median(levels)) - 1):.0f}% more" if levels else "more"
    if "drift" in how.learns:
        done, advice = f"{how.policy} compares the arms within each period, so that this does not mislead it.", ""
    else:
        done = "Splits know no season: an arm that got most of its money in good times looks better than it is."
        advice = "Compare arms over the same time only; or divide outcomes by a known index before you record them."
    return Finding(
        "season", "note", "All arms rise and fall together",
        f"A typical arm brought {more} in its best quarter of the time than in its worst, and the others with it: a "
        "season, a holiday, the market. That alone does not change which arm is best.", done, advice,
        _numbers("no drift", moved),
    )  # fmt: skip


def unequal_noise(evidence: Evidence, how: Handling) -> Finding:
    """Some arms vary much more than others."""
    arms, sigma = evidence.shown["arms"], evidence.shown["sigma"]
    noisy, quiet = arms[int(np.argmax(sigma))], arms[int(np.argmin(sigma))]
    times = f"{evidence.effect:.1f}" if evidence.effect < 10 else f"{evidence.effect:,.0f}"
    advice = ""
    if "noise" in how.learns:
        done = f"{how.policy} learns how much each arm varies, and is sure of the quiet ones sooner."
    elif how.noise_by_arm:
        done = "The campaign has a noise scale for each arm."
    else:
        done = (
            f"{how.policy or 'A policy with one σ'} takes all arms to vary alike: it is too sure of {noisy}, and not "
            f"sure enough of {quiet}."
        )
        advice = (
            "Give each arm a noise scale (sigma) of its own, with a policy that takes them (recommended does); a fit "
            "of the exported history measures them."
        )
    return Finding(
        "unequal-noise", "warning" if advice else "note", "Some arms vary much more than others",
        f"For the same amount results of {noisy} vary {times} times as much as those of {quiet}, so it takes "
        f"longer to tell what {noisy} is worth.", done, advice,
        _numbers("equal noise", evidence),
        (noisy, quiet),
    )  # fmt: skip


def weekdays(evidence: Evidence, how: Handling) -> Finding:
    """A weekday pattern that all arms share."""
    factors, days = evidence.shown["factors"], evidence.shown["days"]
    best, worst = int(np.argmax(factors)), int(np.argmin(factors))
    return Finding(
        "weekdays", "note", "Weekdays matter",
        f"On all arms alike {days[best]} brings {100 * (factors[best] - 1):.0f}% more than an average day, "
        f"{days[worst]} {100 * (1 - factors[worst]):.0f}% less.",
        "Splits know no weekdays: the pattern counts as chance, and makes it take longer to be sure.",
        "Make a period a whole week; or divide outcomes by what the weekday usually brings before you record them.",
        _numbers("no weekday pattern", evidence),
    )  # fmt: skip


def steady_amounts(spread: float, how: Handling) -> Finding:
    """Amounts that hardly change cannot tell whether returns diminish."""
    within = f"within about {max(100 * spread, 1):.0f}%" if spread > 0.0005 else "to the unit"
    assumed = (
        f"c = {how.c:g} is taken as given." if how.c < 1.0 else "Twice the amount is taken to bring twice as much."
    )
    return Finding(
        "steady-amounts", "note", "Amounts hardly change",
        f"An arm got nearly the same amount whenever it got something ({within}), so these results cannot tell "
        "whether more money on an arm would bring less per unit.", assumed,
        "Now and then give an arm half or double the amount for a period or two, and record what was really spent.",
        f"spread of log amount within arms: {spread:.3f}",
    )  # fmt: skip


def _largest_move(seen: Observations) -> tuple[str, float, float]:
    """The arm whose return moved most, and what a unit brought at first and at last."""
    moves = [(arm, levels[0], levels[-1]) for arm, levels in seen.returns()]

    def size(move: tuple[str, float, float]) -> float:
        _, first, last = move
        return abs(math.log(last / first)) if first > 0 and last > 0 else abs(last - first)

    return max(moves, key=size)


def _level(arm: str, value: float, how: Handling) -> str:
    return f"{arm} {'cost' if how.minimise else 'brought'} {readable(value)} per {one_of(how.unit)}"


def _span(half_life: float, seen: Observations) -> str:
    """A half-life in days or weeks where that is what a period is; empty where all of the past is worth the same."""
    if math.isinf(half_life):
        return ""
    moments = seen.history.moments
    step = 0.0
    if moments is not None:
        gaps = np.diff(np.unique(moments)).astype("timedelta64[s]").astype(np.float64)
        step = float(np.median(gaps)) / 86400 if len(gaps) else 0.0
    days = half_life * step
    if 0.9 < step < 1.1 and days < 14:
        return counted(round(days), "day")
    if 0.9 < step < 8:
        return counted(round(days / 7), "week")
    return f"{half_life:g} period{'' if half_life == 1 else 's'}"


def _rounded(value: float) -> float:
    """Two figures: a usual value is no more exact than that."""
    return float(f"{value:.2g}")


def _command(how: Handling, verb: str, arguments: str) -> str:
    """What to type, where there is a campaign."""
    return "" if how.name is None else f"apportion {verb} {shlex.quote(how.name)} {arguments}"


def _numbers(name: str, evidence: Evidence) -> str:
    return assumption(name, evidence).details


def _unit(how: Handling) -> str:
    return f" {how.unit}" if how.unit else ""
