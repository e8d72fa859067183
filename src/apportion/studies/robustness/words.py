"""What the study found, in sentences: computed from the data, with the guarantee that each trouble takes away."""

from __future__ import annotations

from apportion.studies.robustness.run import Key, Study
from apportion.studies.robustness.troubles import (
    BY_KEY,
    DELAY,
    HALF_LIFE,
    POLICIES,
    SLIP_CHANCE,
    SLIP_SIZE,
    WALK,
    WINDOW,
    WORLDS,
)

LEADING = POLICIES[0]


def verdict(study: Study) -> str:
    """Whether anything explodes, from the data."""
    moving = [key for key in study if BY_KEY[key.trouble].means != "steady"]
    forgetting = [key for key in study if key not in moving and BY_KEY[key.trouble].remedy in ("half-life", "window")]
    gross = [key for key in study if BY_KEY[key.trouble].noise == "slips"]
    steady = [key for key in study if key not in moving + forgetting + gross]
    # Where a policy is that slow in the clean world too, the trouble is not to blame.
    slow = [key for key in steady if study.linear(key) and study.linear(key._replace(trouble="clean"))]
    broken = [key for key in steady if study.linear(key) and key not in slow]
    worst = max(steady, key=lambda key: study.ratio(key)[0])
    most = f"{study.ratio(worst)[0]:.2f} times the clean regret ({_where(worst)})"
    said = []
    if broken:
        said.append(f"Within this horizon regret is linear for {_list(broken)}. The largest ratio is {most}.")
    else:
        said.append(
            f"With σ or b wrong, heavy tails, delays or late arms nothing explodes: regret is nowhere linear, and the"
            f" largest is {most}."
        )
    if slow:
        names = " and ".join(dict.fromkeys(f"{key.policy} at b = {_b_of(key):g}" for key in slow))
        said.append(f"Too slow for this horizon even where nothing is wrong: {names}.")
    for label, keys in (
        ("gross errors", gross),
        ("moving means", moving),
        ("forgetting in a steady world", forgetting),
    ):
        lost = [key for key in keys if study.linear(key) and key.policy == LEADING]
        if lost:
            said.append(f"With {label}, {LEADING} loses in proportion to time: {_list(lost, short=True)}.")
        elif keys:
            most_lost = max(study.late_part(key)[0] for key in keys if key.policy == LEADING)
            said.append(f"With {label}, {LEADING} loses at most {most_lost:.0%} of an even split in the second half.")
    return " ".join(said)


def _b_of(key: Key) -> float:
    return next(world.b for world in WORLDS if world.name == key.world)


def _where(key: Key) -> str:
    return f"{key.policy}, {BY_KEY[key.trouble].label}, b = {_b_of(key):g}"


def _list(keys: list[Key], short: bool = False) -> str:
    return "; ".join(f"{BY_KEY[key.trouble].label} (b = {_b_of(key):g})" if short else _where(key) for key in keys)


def _times(study: Study, trouble: str, over: str = "clean") -> str:
    """'1.20 ± 0.05 (b = 0.75) and 1.10 ± 0.04 (b = 0.4)', for the leading policy."""
    parts = []
    for world in WORLDS:
        ratio, error = study.ratio(Key(world.name, LEADING, trouble), over)
        parts.append(f"{ratio:.2f} ± {error:.2f} (b = {world.b:g})")
    return " and ".join(parts)


def _range(study: Study, *troubles: str) -> str:
    """'0.9 to 2.4' over all policies and worlds."""
    ratios = [study.ratio(key)[0] for key in study if key.trouble in troubles]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def paragraphs(study: Study) -> list[tuple[str, str]]:
    """A heading and a plain paragraph per trouble: what it costs, and which guarantee is lost."""
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
Told half of σ, `{LEADING}` loses {_times(study, "sigma-half")} times its clean regret; told twice σ,
{_times(study, "sigma-double")}. Over all policies: {_range(study, "sigma-half", "sigma-double")}. Lost when σ is told
too small: every interval and radius is too narrow by the same factor, the stated level (95%, say) does not hold, and
elimination may drop the best arm; a floor (b > 1/2) still corrects that in the end. Told too large, all guarantees
hold, with wider intervals and more exploration."""


def _b(study: Study) -> str:
    return f"""
Told b − 0.15: {_times(study, "b-low")} for `{LEADING}`; told b + 0.15: {_times(study, "b-high")}. Over all policies:
{_range(study, "b-low", "b-high")}. At b = {WORLDS[1].b:g} the larger value lies on the other side of the transition:
policies divide where they should pool. Lost: with b told too large the noise of small shares is understated and the
intervals do not hold. With b told too small they hold and are wider than need be, for amounts of at most the one unit
that σ is stated for (above it, the other way round). The estimate stays unbiased for fixed shares either way; it is
no longer the most precise one. `apportion fit` measures b."""


def _tails(study: Study) -> str:
    return f"""
Student-t noise with 3 degrees of freedom and the same variance: {_times(study, "student")} for `{LEADING}`,
{_range(study, "student")} over all policies; with the robust option {_times(study, "student-robust")}. One outcome in
{1 / SLIP_CHANCE:.0f} off by ±{SLIP_SIZE:g}σ: {_times(study, "slips")}; with the robust option
{_times(study, "slips-robust")}, which is {_times(study, "slips-robust", "slips")} of the regret without it. What the
option costs where nothing is wrong: {_times(study, "robust")}. Lost: the noise is not sub-Gaussian, so no interval,
radius or regret bound is proven, with or without the option. An arm with one or two outcomes has nothing to trim
against: a policy that pools can be put off the best arm by one wild outcome for as long as its index takes to return,
and that is the tail below. With lopsided noise the robust estimate leans towards the median."""


def _moving(study: Study) -> str:
    return f"""
Drift: every mean is a random walk with steps of {WALK:g}; jumps: after each quarter of the time another arm is the
good one. Regret is counted against the best arm of each period. Without forgetting: {_times(study, "drift")} (drift)
and {_times(study, "jump")} (jumps) times the clean regret for `{LEADING}`. With a half-life of {HALF_LIFE:g} it loses
{_times(study, "drift-half-life", "drift")} of that under drift, and {_times(study, "jump-half-life", "jump")} under
jumps; with a window of {WINDOW}, {_times(study, "drift-window", "drift")} and {_times(study, "jump-window", "jump")}.
The insurance costs {_times(study, "half-life")} (half-life) and {_times(study, "window")} (window) where nothing
moves. Lost: all of it. Every theorem here is about fixed means; intervals cover the noise of what still counts, not
the movement; regret against the best arm of each period must grow in proportion to time while the world keeps moving;
and a policy that forgets can no longer have finite regret in a steady world."""


def _delay(study: Study) -> str:
    return f"""
Each outcome is told {DELAY} periods after its split: {_times(study, "delay")} for `{LEADING}`,
{_range(study, "delay")} over all policies. Kept: estimates and intervals are right at any time, as they use only what
has come home. Lost: regret bounds grow by about the regret of the {DELAY} blind periods, and policies may repeat a
choice while they wait."""


def _late(study: Study) -> str:
    return f"""
Two arms, one of them the best, arrive after a third of the time; until then an arm with half the gap leads:
{_times(study, "late")} for `{LEADING}`,
{_range(study, "late")} over all policies, against the best arm that is there. Kept: estimates and intervals of every
arm. Lost: regret bounds assume that all arms are there from the start; shares that fade with time are smaller for a
newcomer than they were for the others, so a bad first outcome takes longer to correct."""
