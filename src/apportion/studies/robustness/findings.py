"""What the study found, in sentences: computed from the data, with the guarantee that each violation takes away."""

from __future__ import annotations

import functools

from apportion.studies.page import with_error
from apportion.studies.robustness import violations
from apportion.studies.robustness.study import CellName, Study
from apportion.studies.robustness.violations import BY_KEY, NONE, POLICIES, WORLDS

LEADING = POLICIES[0]


def verdict(study: Study) -> str:
    """Whether regret explodes anywhere, from the data."""
    moving = [name for name in study if BY_KEY[name.violation].means != "steady"]
    steady = [name for name in study if name not in moving]
    forgetting = [name for name in steady if BY_KEY[name.violation].remedy in ("half-life", "window")]
    outliers = [name for name in study if BY_KEY[name.violation].noise == "slips"]
    bent = [name for name in study if BY_KEY[name.violation].c < 1.0]
    others = [name for name in study if name not in moving + forgetting + outliers + bent]
    # Where a policy is that slow with nothing wrong too, the violation is not to blame.
    slow = [name for name in others if study.linear(name) and study.linear(name._replace(violation=NONE))]
    broken = [name for name in others if study.linear(name) and name not in slow]
    worst = max(others, key=lambda name: study.ratio(name)[0])
    most = f"{study.ratio(worst)[0]:.2f} times the regret with nothing wrong ({_where(worst)})"
    if broken:
        listed = "; ".join(map(_where, broken))
        sentences = [f"Within this horizon regret is linear for {listed}. The largest ratio is {most}."]
    else:
        nothing = "With σ or b wrong, heavy tails, unequal or correlated noise, delays or late arms nothing explodes"
        sentences = [f"{nothing}: regret is nowhere linear, and the largest is {most}."]
    if slow:
        names = " and ".join(dict.fromkeys(f"{name.policy} at b = {_b_of(name):g}" for name in slow))
        sentences.append(f"Too slow for this horizon even where nothing is wrong: {names}.")
    named = {
        "outliers": outliers, "diminishing returns taken as proportional": bent, "moving means": moving,
        "forgetting in a steady world": forgetting,
    }  # fmt: skip
    for label, found in named.items():
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


def _range(study: Study, *keys: str) -> str:
    """'0.90 to 2.42' over all policies and worlds."""
    ratios = [study.ratio(name)[0] for name in study if name.violation in keys]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def paragraphs(study: Study) -> list[tuple[str, str]]:
    """A heading and a plain paragraph per violation: what it costs, and which guarantee is lost."""
    times, span = functools.partial(_times, study), functools.partial(_range, study)
    return [
        ("σ wrong by a factor of 2", f"""
Given half of σ, `{LEADING}` loses {times("sigma-half")} times its regret with nothing wrong; given twice σ,
{times("sigma-double")}. Over all policies: {span("sigma-half", "sigma-double")}. Lost when σ is assumed too
small: every interval and radius is too narrow by the same factor, the stated level (95%, say) does not hold, and
elimination may drop the best arm; a floor (b > 1/2) still corrects that in the end. Assumed too large, all
guarantees hold, with wider intervals and more exploration."""),
        ("b wrong by 0.15", f"""
Given b − 0.15: {times("b-low")} for `{LEADING}`; given b + 0.15: {times("b-high")}. Over all policies:
{span("b-low", "b-high")}. At b = {WORLDS[1].b:g} the larger value lies on the other side of the transition:
policies divide where they should pool. Lost: with b assumed too large the noise of small shares is understated
and the intervals do not hold. With b assumed too small they hold and are wider than need be, for amounts of at
most the one unit that σ is stated for (above it, the other way round). The estimate stays unbiased for fixed
shares either way; it is no longer the most precise one. `apportion fit` measures b."""),
        ("Heavy tails", f"""
Student-t noise with 3 degrees of freedom and the same variance: {times("student")} for `{LEADING}`,
{span("student")} over all policies; with the robust option {times("student-robust")}. One outcome in
{1 / violations.SLIP_CHANCE:.0f} off by ±{violations.SLIP_SIZE:g}σ: {times("slips")}; with the robust option
{times("slips-robust")}, which is {times("slips-robust", "slips")} of the regret without it. What the option costs
where nothing is wrong: {times("robust")}. Lost: the noise is not sub-Gaussian, so no interval, radius or regret
bound is proven, with or without the option. An arm with one or two outcomes has nothing to trim against: a policy
that pools can be put off the best arm by one outlier for as long as its index takes to return, and that is the
tail below. With skewed noise the robust estimate leans towards the median."""),
        ("Unequal noise", f"""
The best arm has {violations.LARGEST_LEVEL:g} times the σ that is assumed, the last one as many times less, the others
between; all are taken as their geometric mean: {times("unequal")} for `{LEADING}`, {span("unequal")} over all
policies. Lost: the interval of every arm that is noisier than assumed does not hold, and no regret bound does.
`{LEADING}` and `Matching` take a σ for each arm, and `apportion fit` estimates them."""),
        ("Correlated noise", f"""
Within a period any two arms are correlated by {violations.CORRELATION:g}, as by a common shock: {times("shock")} for
`{LEADING}`, {span("shock")} over all policies. Kept: the interval of each arm, and the regret bounds of proportional
returns, as their proofs add up the failures of arms whatever their correlation (not so the pairwise test of
`SuccessiveElimination`, which takes them as independent). From one period to the next by {violations.CORRELATION:g}:
{times("serial")} for `{LEADING}`, {span("serial")} over all policies. Lost: the noise no longer has mean 0 given the
past, so no interval, radius or regret bound is proven; n outcomes tell about as much as
{(1 - violations.CORRELATION) / (1 + violations.CORRELATION):.2g}·n independent ones."""),
        ("Returns that diminish", f"""
Returns grow as A^{violations.RETURN_EXPONENT:g}, and every policy takes them as proportional: {times("bent")} for
`{LEADING}`, {span("bent")} over all policies, against the best split. Lost: all of it. The best split is no longer
all on one arm, so a policy that finds the best arm goes on losing what the others would have added, and estimates
lean upwards for arms with small shares. `{LEADING}`, `Matching` and `Thompson` take c, `Auto` learns it."""),
        ("Means that move", f"""
Drift: every mean is a random walk with steps of {violations.DRIFT_STEP:g}; jumps: after each quarter of the time
another arm is the good one. Regret is counted against the best arm of each period. Without forgetting:
{times("drift")} (drift) and {times("jump")} (jumps) times the regret with nothing wrong for `{LEADING}`. With a
half-life of {violations.HALF_LIFE:g} it loses {times("drift-half-life", "drift")} of that under drift, and
{times("jump-half-life", "jump")} under jumps; with a window of {violations.WINDOW},
{times("drift-window", "drift")} and {times("jump-window", "jump")}. Forgetting costs {times("half-life")}
(half-life) and {times("window")} (window) where nothing moves. Lost: all of it. Every theorem here is about fixed
means; intervals cover the noise of what still counts, not the movement; regret against the best arm of each
period must grow in proportion to time while the world keeps moving; and a policy that forgets can no longer have
finite regret in a steady world."""),
        ("Outcomes that come late", f"""
Each outcome arrives {violations.DELAY} periods after its split: {times("delay")} for `{LEADING}`, {span("delay")}
over all policies. Kept: estimates and intervals are right at any time, as they use only what has arrived. Lost:
regret bounds grow by about the regret of the {violations.DELAY} blind periods, and policies may repeat a choice
while they wait."""),
        ("Arms that arrive late", f"""
Two arms, one of them the best, arrive after a third of the time; until then an arm with half the gap leads:
{times("late")} for `{LEADING}`, {span("late")} over all policies, against the best arm that is there. Kept:
estimates and intervals of every arm. Lost: regret bounds assume that all arms are there from the start; shares
that fade with time are smaller for a newcomer than they were for the others, so a bad first outcome takes longer
to correct."""),
    ]  # fmt: skip
