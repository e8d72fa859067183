"""What `Auto` knows before a period: learned at the last fit, and followed by the filters from then on."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import generic, implements, large_kernel
from apportion.inference.estimates import read_off
from apportion.inference.fitting import FADE, fit
from apportion.inference.learner import DONE, NEXT, Learner, expect, followed, make_room
from apportion.inference.learning import CURVED, B, C, fit_law
from apportion.inference.movement import MOTIONS, STILL, mixture, motion_of, weights_of
from apportion.inference.running import run
from apportion.model.sums import Floats, GridSums, forget


class Knowledge(NamedTuple):
    """What a decision needs: the law, and of each arm the mean, its variance, that of a comparison, and σ.

    `motion` is what `STEP` and the others are the indices of. An arm of which nothing is known has a mean of NaN.
    `resource` is how much was spent on the arm, `aim` the best split for the arms' own curves, where they have such.
    """

    law: Floats
    motion: Floats
    means: Floats
    variances: Floats
    contrasts: Floats
    sigma: Floats
    resource: Floats
    aim: Floats

    @property
    def count(self) -> Any:
        """1 for an arm of which something is known, else 0."""
        return 1.0 - np.isnan(self.means)

    def take(self, arms: Any) -> "Knowledge":
        """What is known of some arms; the law stays that of all."""
        return Knowledge(self.law, self.motion, *(values[arms] for values in self[2:]))


@generic
def knowledge(sums: Any, number: int, given: Any) -> Any:
    """`Knowledge` before period `number`; `given` are the σ_i, 0 where they are to be learned."""


@implements(knowledge, Knowledge)
def _of_itself(known: Any, number: int, given: Any) -> Any:
    return known


@implements(expect, Knowledge)
def _is_known(known: Any, number: int) -> None:
    return


@implements(knowledge, Learner)
def _of_learner(learner: Any, number: int, given: Any) -> Knowledge:
    catch_up(learner, number)
    return known_by(learner)


@large_kernel
def known_by(learner: Any) -> Knowledge:
    """What is known after the last period that was taken in."""
    filters = followed(learner)
    arms = len(filters.known)
    means, variances, contrasts, motion = np.empty(arms), np.empty(arms), np.empty(arms), np.zeros(MOTIONS)
    weights = weights_of(filters, learner.clock[DONE])
    if learner.law[CURVED] > 0.0:  # what a curve does is no movement
        weights[:] = 0.0
        weights[0] = 1.0
    mixture(filters, weights, means, variances, contrasts)
    motion_of(filters, weights, motion)
    means[filters.known == 0.0] = np.nan
    return Knowledge(
        learner.law, motion, means, variances, contrasts, learner.sigma, learner.grid.resource, learner.aim
    )


@implements(knowledge, GridSums)
def _of_sums(sums: Any, number: int, given: Any) -> Knowledge:
    """With a memory that was given there is nothing to learn of how the world moves."""
    arms = len(sums.count)
    means, variances, sigma, law = np.empty(arms), np.empty(arms), np.empty(arms), np.zeros(CURVED + 1)
    motion, every = np.zeros(MOTIONS), np.empty(arms)
    for arm in range(arms):  # those of arms that are not asked about come last
        every[arm] = given[min(arm, len(given) - 1)]
    fit_law(sums, every, law)
    read_off(sums, law[C], law[B], every, means, variances, sigma)
    motion[STILL] = 1.0
    return Knowledge(law, motion, means, variances, variances, sigma, sums.resource, np.zeros(arms))


@large_kernel
def catch_up(learner: Any, number: int) -> None:
    """Take in all periods before `number`, and make room for its outcomes. With period 1 everything begins anew."""
    if number == 1:
        learner.clock[:] = 0
        learner.filters.known[:] = 0.0
        learner.watch.known[:] = 0.0
        forget(learner.grid)
    clock = learner.clock
    while clock[DONE] < number - 1:
        done, last = clock[DONE], min(number - 1, clock[NEXT] - 1)
        clock[DONE] = max(last, done + 1)
        if last > done:
            run(learner, followed(learner), done + 1, last, FADE)
        else:
            fit(learner, done + 1)
    make_room(learner.amounts, learner.outcomes, learner.clock, number)
