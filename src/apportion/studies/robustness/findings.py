"""What the study found, in sentences: computed from the data, with the guarantee that each violation takes away."""

from __future__ import annotations

from apportion.studies.page import with_error
from apportion.studies.robustness.study import CellName, Study
from apportion.studies.robustness.violations import (
    BY_KEY,
    DELAY,
    DRIFT_STEP,
    HALF_LIFE,
    NONE,
    POLICIES,
    SLIP_CHANCE,
    SLIP_SIZE,
    WINDOW,
    WORLDS,
)

LEADING = POLICIES[0]


def verdict(study: Study) -> str:
    """Whether regret explodes anywhere, from the data."""
    moving = [name for name in study if BY_KEY[name.violation].means != "steady"]
    forgetting = [
        name for name in study if name not in moving and BY_KEY[name.violation].remedy in ("half-life", "window")
    ]
    outliers = [name for name in study if BY_KEY[name.violation].noise == "slips"]
    others = [name for name in study if name not in moving + forgetting + outliers]
    # Where a policy is that slow with nothing wrong too, the violation is not to blame.
    slow = [name for name in others if study.linear(name) and study.linear(name._replace(violation=NONE))]
    broken = [name for name in others if study.linear(name) and name not in slow]
    worst = max(others, key=lambda name: study.ratio(name)[0])
    most = f"{study.ratio(worst)[0]:.2f} times the regret with nothing wrong ({_where(worst)})"
    sentences = []
    if broken:
        listed = "; ".join(map(_where, broken))
        sentences.append(f"Within this horizon regret is linear for {listed}. The largest ratio is {most}.")
    else:
        sentences.append(
            f"With σ or b wrong, heavy tails, delays or late arms nothing explodes: regret is nowhere linear, and the"
            f" largest is {most}."
        )
    if slow:
        names = " and ".join(dict.fromkeys(f"{name.policy} at b = {_b_of(name):g}" for name in slow))
        sentences.append(f"Too slow for this horizon even where nothing is wrong: {names}.")
    for label, found in (
        ("outliers", outliers),
        ("moving means", moving),
        ("forgetting in a steady world", forgetting),
    ):
        mine = [name for name in found if name.policy == LEADING]
        linear = [f"{BY_KEY[name.violation].label} (b = {_b_of(name):g})" for name in mine if study.linear(name)]
        if linear:
            sentences.append(f"With {label}, {LEADING} loses in proportion to time: {'; '.join(linear)}.")
        elif found:
            part = max(study.late_part(name)[0] for name in mine)
            sentences.append(f"With {label}, {LEADING} loses at most {part:.0%} of an even split in the second half.")
    return " ".join(sentences)


def _b_of(name: CellName) -> float:
    return next(world.b for world in WORLDS if world.name == name.world)


def _where(name: CellName) -> str:
    return f"{name.policy}, {BY_KEY[name.violation].label}, b = {_b_of(name):g}"


def _times(study: Study, violation: str, over: str = NONE) -> str:
    """'1.204 ± 0.05 (b = 0.75) and 1.1 ± 0.041 (b = 0.4)', for the leading policy."""
    return " and ".join(
        f"{with_error(*study.ratio(CellName(world.name, LEADING, violation), over))} (b = {world.b:g})"
        for world in WORLDS
    )


def _range(study: Study, *violations: str) -> str:
    """'0.90 to 2.42' over all policies and worlds."""
    ratios = [study.ratio(name)[0] for name in study if name.violation in violations]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def paragraphs(study: Study) -> list[tuple[str, str]]:
    """A heading and a plain paragraph per violation: what it costs, and which guarantee is lost."""
    return [
        ("σ wrong by a factor of 2", _sigma(study)),
        ("b wrong by 0.15", _b(study)),
        ("Heavy tails", _tails(study)),
        ("Means that move", _moving(study)),
        ("Outcomes that come late", _delay(study)),
        ("Arms that arrive late", _late(study)),
    ]


def _sigma(study: Study) -> str:
    return f"""
Given half of σ, `{LEADING}` loses {_times(study, "sigma-half")} times its regret with nothing wrong; given twice σ,
{_times(study, "sigma-double")}. Over all policies: {_range(study, "sigma-half", "sigma-double")}. Lost when σ is
assumed too small: every interval and radius is too narrow by the same factor, the stated level (95%, say) does not
hold, and elimination may drop the best arm; a floor (b > 1/2) still corrects that in the end. Assumed too large, all
guarantees hold, with wider intervals and more exploration."""


def _b(study: Study) -> str:
    return f"""
Given b − 0.15: {_times(study, "b-low")} for `{LEADING}`; given b + 0.15: {_times(study, "b-high")}. Over all
policies: {_range(study, "b-low", "b-high")}. At b = {WORLDS[1].b:g} the larger value lies on the other side of the
transition: policies divide where they should pool. Lost: with b assumed too large the noise of small shares is
understated and the intervals do not hold. With b assumed too small they hold and are wider than need be, for amounts
of at most the one unit that σ is stated for (above it, the other way round). The estimate stays unbiased for fixed
shares either way; it is no longer the most precise one. `apportion fit` measures b."""


def _tails(study: Study) -> str:
    return f"""
Student-t noise with 3 degrees of freedom and the same variance: {_times(study, "student")} for `{LEADING}`,
{_range(study, "student")} over all policies; with the robust option {_times(study, "student-robust")}. One outcome in
{1 / SLIP_CHANCE:.0f} off by ±{SLIP_SIZE:g}σ: {_times(study, "slips")}; with the robust option
{_times(study, "slips-robust")}, which is {_times(study, "slips-robust", "slips")} of the regret without it. What the
option costs where nothing is wrong: {_times(study, "robust")}. Lost: the noise is not sub-Gaussian, so no interval,
radius or regret bound is proven, with or without the option. An arm with one or two outcomes has nothing to trim
against: a policy that pools can be put off the best arm by one outlier for as long as its index takes to return, and
that is the tail below. With skewed noise the robust estimate leans towards the median."""


def _moving(study: Study) -> str:
    return f"""
Drift: every mean is a random walk with steps of {DRIFT_STEP:g}; jumps: after each quarter of the time another arm is
the good one. Regret is counted against the best arm of each period. Without forgetting: {_times(study, "drift")}
(drift) and {_times(study, "jump")} (jumps) times the regret with nothing wrong for `{LEADING}`. With a half-life of
{HALF_LIFE:g} it loses {_times(study, "drift-half-life", "drift")} of that under drift, and
{_times(study, "jump-half-life", "jump")} under jumps; with a window of {WINDOW},
{_times(study, "drift-window", "drift")} and {_times(study, "jump-window", "jump")}. Forgetting costs
{_times(study, "half-life")} (half-life) and {_times(study, "window")} (window) where nothing moves. Lost: all of it.
Every theorem here is about fixed means; intervals cover the noise of what still counts, not the movement; regret
against the best arm of each period must grow in proportion to time while the world keeps moving; and a policy that
forgets can no longer have finite regret in a steady world."""


def _delay(study: Study) -> str:
    return f"""
Each outcome arrives {DELAY} periods after its split: {_times(study, "delay")} for `{LEADING}`,
{_range(study, "delay")} over all policies. Kept: estimates and intervals are right at any time, as they use only what
has arrived. Lost: regret bounds grow by about the regret of the {DELAY} blind periods, and policies may repeat a
choice while they wait."""


def _late(study: Study) -> str:
    return f"""
Two arms, one of them the best, arrive after a third of the time; until then an arm with half the gap leads:
{_times(study, "late")} for `{LEADING}`, {_range(study, "late")} over all policies, against the best arm that is
there. Kept: estimates and intervals of every arm. Lost: regret bounds assume that all arms are there from the start;
shares that fade with time are smaller for a newcomer than they were for the others, so a bad first outcome takes
longer to correct."""
