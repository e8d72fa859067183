"""A Gaussian process per arm and a knapsack over its draws or bounds. Needs scikit-learn: the extra `process`."""

import functools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from apportion._common import optional
from apportion.model.sums import Floats
from apportion.policies.contract import Policy
from apportion.policies.parameters import OneOf, Whole, parameter
from apportion.policies.published.levels import Levels, begin, share_levels

# The width of the bounds, √β_t with the usual choice for N levels and K arms.
_LEVEL = 0.05
_SHORTEST, _LONGEST = 0.05, 5.0


class GaussianProcessKnapsack(Policy):
    """The returns of each arm as a Gaussian process in the amount; a knapsack over what it draws, or over its bounds.

    Amounts are 0, 1/N, …, 1 (`levels` = N). Each arm has a process with a squared-exponential kernel, fitted to the
    mean outcome of every level that was tried, with its noise; length and size of the kernel are fitted anew in
    periods 2, 4, 8, … by maximum likelihood (scikit-learn), the noise from how outcomes vary within a level.
    `by="thompson"` takes one draw of every process, `by="ucb"` mean + √β·deviation, β = 2·log(K·N·t²·π²/(6·0.05));
    the best split in whole levels for these is found by dynamic programming. The prior mean is 0, and an amount of 0
    is known to return nothing.

    From Nuara, Trovò, Gatti and Restelli (2022), *Online joint bid/daily budget optimization of Internet advertising
    campaigns* (GPTS and GPUCB, the knapsack of a day). Guarantee (theirs): regret of order √T up to the information
    gain. Where it fails: kernel and noise are fitted, not known, which the proof does not cover; and it is dear, as
    the cost per decision in `apportion compare` shows.

    >>> GaussianProcessKnapsack(levels=10)
    GaussianProcessKnapsack(levels=10)
    """

    levels: int = parameter(Whole(low=2, high=200, hint="levels of amounts"), default=20)
    by: str = parameter(OneOf(("thompson", "ucb"), "draws, or bounds"), default="thompson")

    rule = "models each arm's returns by a Gaussian process and takes the best combination of its draws"
    needs = "Needs scikit-learn."
    laboratory = True
    compiles = False
    randomised = True

    class Record(NamedTuple):
        """The levels, and whether bounds are taken."""

        levels: int
        ucb: bool

    @property
    def reads(self) -> Any:
        """Sums per level."""
        return Levels(self.levels)

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Refused where scikit-learn is missing."""
        optional.require("process", "`GaussianProcessKnapsack`")
        return self.Record(self.levels, self.by == "ucb")

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """A draw or a bound of every process, then the knapsack."""
        begin(period, sums)
        arms, steps = len(shares), self.levels
        if not sums.count.any():
            share_levels(rng.random((arms, steps + 1)), steps, shares)
            return
        noise = _noise(sums)
        scale = float(np.abs(sums.total).sum() / sums.count.sum()) or 1.0
        refit = period.number & (period.number - 1) == 0
        beta = 2.0 * math.log(arms * steps * period.number**2 * math.pi**2 / (6.0 * _LEVEL))
        values = np.zeros((arms, steps + 1))
        grid = np.arange(steps + 1) / steps
        for arm in range(arms):
            mean, deviation, draw = _process(sums, arm, grid, noise, scale, refit, rng)
            values[arm] = mean + math.sqrt(beta) * deviation if self.ucb else draw
            values[arm, 0] = 0.0
        share_levels(values, steps, shares)


def _noise(sums: Any) -> float:
    """The variance of an outcome, pooled over the levels that were tried more than once."""
    counts = sums.count
    many = counts > 1.0
    freedom = float((counts - 1.0)[many].sum())
    spread = float(np.abs(sums.total).sum() / counts.sum()) ** 2
    if freedom < 1.0:
        return max(0.25 * spread, 1e-12)
    within = (sums.square - sums.total**2 / np.where(counts > 0.0, counts, 1.0))[many].sum()
    return max(float(within) / freedom, 1e-9 * spread, 1e-12)


def _process(
    sums: Any, arm: int, grid: Floats, noise: float, scale: float, refit: bool, rng: Any
) -> tuple[Floats, Floats, Floats]:
    """The posterior mean and deviation of an arm on the grid, and a draw; `fitted` keeps the kernel between fits."""
    tried = np.flatnonzero(sums.count[:, arm] > 0.0)
    places = np.concatenate([[0.0], grid[tried]])
    means = np.concatenate([[0.0], sums.total[tried, arm] / sums.count[tried, arm]]) / scale
    noises = np.concatenate([[1e-6], noise / scale**2 / sums.count[tried, arm]]) + 1e-9
    size, length = sums.fitted[:, arm] if sums.fitted[0, arm] > 0.0 else (1.0, 0.5)
    if refit and len(tried) > 1:
        size, length = sums.fitted[:, arm] = _fitted(places, means, noises, size, length)
    mean, covariance = posterior(places, means, noises, size, length, grid)
    jitter = 1e-8 * np.trace(covariance) / len(grid) + 1e-10
    draw = mean + np.linalg.cholesky(covariance + jitter * np.eye(len(grid))) @ rng.standard_normal(len(grid))
    return scale * mean, scale * np.sqrt(np.maximum(np.diag(covariance), 0.0)), scale * draw


def _fitted(places: Floats, means: Floats, noises: Floats, size: float, length: float) -> Floats:
    """The size and the length of the kernel of greatest likelihood, looked for from these on."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(size, (1e-2, 1e2)) * RBF(length, (_SHORTEST, _LONGEST))
    with warnings.catch_warnings(), _threads().limit(limits=1):
        warnings.simplefilter("ignore")  # a kernel at the end of its range is no news
        model = GaussianProcessRegressor(kernel, alpha=noises).fit(places[:, np.newaxis], means)
    return np.asarray(np.exp(model.kernel_.theta))


@functools.cache
def _threads() -> Any:
    """Of linear algebra, for which matrices of this size are too small: with two a fit takes five times as long."""
    import sklearn.gaussian_process  # noqa: F401 - brings the libraries that are to be found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def posterior(
    places: Floats, means: Floats, noises: Floats, size: float, length: float, grid: Floats
) -> tuple[Floats, Floats]:
    """Mean and covariance on the grid given `means` with variances `noises` at `places`, for the kernel
    size·exp(−d²/(2·length²)).

    As scikit-learn's `predict`, at a fiftieth of its time: nothing is validated, which is what takes it 9 ms.
    """

    def kernel(one: Floats, other: Floats) -> Floats:
        return np.asarray(size * np.exp(-0.5 * ((one[:, np.newaxis] - other) / length) ** 2))

    root = np.linalg.cholesky(kernel(places, places) + np.diag(noises))
    across = np.linalg.solve(root, kernel(places, grid))
    return across.T @ np.linalg.solve(root, means), kernel(grid, grid) - across.T @ across
