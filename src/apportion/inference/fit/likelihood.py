"""The likelihood of the exponents c and b, with means and scales taken out.

The law: y = μ_i·x^c + x^b·σ_i·ξ for arm i. For each (c, b) the means that fit best are the information-weighted ones,
μ_i = Z_i/B_i with Z_i = Σ x^(c−2b)·y and B_i = Σ x^(2c−2b), and what is left over is R_i = Σ (y − μ_i·x^c)²/x^(2b).
Putting both into the Gaussian likelihood gives the profile likelihood. It forgets that the means cost K observations,
and at 20 observations an arm that shows. For b the *restricted* likelihood is used, that of what the data say apart
from the means:

    l(c, b) = −((N − K)/2)·log Σ R_i − b·Σ log x − ½·Σ_i [log B_i(c, b) − log B_i(c, b₀)]

(for a scale per arm the first term is −Σ_i ((n_i − 1)/2)·log R_i). Without the last term, at b₀, it would not be the
same function of c in every unit of amount: log B_i moves with c as the scale of μ_i does. Written in λ_i = μ_i·√B_i,
which is orthogonal to c at b₀ (Cox and Reid 1987), the means take nothing that depends on c; b₀ is the estimate of b.
At a given c the last term is a constant. l is the same function, up to a constant, in every unit of amount and
outcome, and an arm with one observation drops out of it, as it must.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# So many numbers are held at once at most: 8 MB.
_AT_ONCE = 1_000_000


class Fit(NamedTuple):
    """Everything at one (c, b): per mean its value and information, per arm the residual sum of squares; all in the
    scaled units of `Data`."""

    means: Floats
    information: Floats
    residual: Floats


class Grid(NamedTuple):
    """Rows are values of c, columns of b, arms on the last axis: residual sums of squares, and Σ log B of means."""

    b: Floats
    residual: Floats
    log_information: Floats


class Data:
    """Amounts and outcomes sorted by arm, in units where nothing overflows.

    Amounts are measured in `unit`, their geometric mean, outcomes in `size`, the largest: the powers that occur are
    those of ratios of amounts. A mean belongs to an arm, or with `blocks` to an arm and a block of time.
    `means=False` is for data whose means are 0, the differences of a burn-in.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.intp],
        amounts: Floats,
        outcomes: Floats,
        *,
        per_arm: bool,
        means: bool = True,
        blocks: npt.NDArray[np.intp] | None = None,
    ) -> None:
        keys = codes if blocks is None else codes * (int(blocks.max()) + 1) + blocks
        self.order = np.argsort(keys, kind="stable")
        self.codes = codes[self.order]
        self.blocks = None if blocks is None else blocks[self.order]
        self.counts = np.bincount(codes)
        firsts = np.flatnonzero(np.diff(keys[self.order], prepend=-1))
        self.starts = firsts  # of each mean, among the observations
        self.sizes = np.diff(firsts, append=len(codes))
        self.arm_starts = np.flatnonzero(np.diff(self.codes[firsts], prepend=-1))  # of each arm, among the means
        self.per_arm = per_arm
        self.quiet = np.zeros(
            len(self.counts), np.bool_
        )  # arms without noise: with a scale of their own they are out
        self.with_means = means
        # What the means of an arm leave.
        self.free = self.counts - np.bincount(self.codes[firsts]) * int(means)
        self.dof = int(self.free.sum())
        logs = np.log(amounts[self.order])
        log_unit = float(logs.mean())
        self.log_unit, self.unit, self.size = log_unit, math.exp(log_unit), float(np.abs(outcomes).max()) or 1.0
        self.logs = logs - log_unit
        self.y = outcomes[self.order] / self.size
        self.log_sums = self.arm_sums(self.sums(self.logs))

    @property
    def own_scale(self) -> npt.NDArray[np.bool_]:
        """The arms that count with a scale of their own. Two observations then fit some c exactly, and tell nothing
        about b."""
        found: npt.NDArray[np.bool_] = (self.free > 1) & ~self.quiet
        return found

    def sums(self, values: Floats) -> Floats:
        """Sums per mean of values sorted as here, along the last axis."""
        found: Floats = np.add.reduceat(values, self.starts, axis=-1)
        return found

    def arm_sums(self, values: Floats) -> Floats:
        """Sums per arm of values per mean."""
        if len(self.arm_starts) == values.shape[-1]:
            return values
        found: Floats = np.add.reduceat(values, self.arm_starts, axis=-1)
        return found

    def spread(self, values: Floats) -> Floats:
        """Values per mean, for each of its observations."""
        return np.repeat(values, self.sizes, axis=-1)

    def at(self, c: float, b: float) -> Fit:
        """Means, information and residual sums of squares."""
        means, information, residual = self._solve(np.array([c]), np.array([b]))
        return Fit(means[0, 0], information[0, 0], residual[0, 0])

    def _solve(self, c: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
        """For each c and b. No power is a quotient of powers, so none is 0/0."""
        tilted = np.exp(np.multiply.outer(-b, self.logs))  # x^-b
        scaled = tilted * self.y
        if not self.with_means:
            nothing = np.zeros((len(c), len(b), len(self.sizes)))
            return nothing, nothing, np.broadcast_to(self.arm_sums(self.sums(np.square(scaled))), nothing.shape)
        base = np.exp(np.multiply.outer(c, self.logs))[:, None, :] * tilted  # x^(c-b)
        information = self.sums(np.square(base))
        means = self.sums(base * scaled) / information
        base *= self.spread(means)
        rest = np.subtract(scaled, base, out=base)
        return means, information, self.arm_sums(self.sums(np.square(rest, out=rest)))

    def grid(self, c: Floats, b: Floats) -> Grid:
        """Everything the likelihood needs for each c and b."""
        rows = max(1, _AT_ONCE // (len(self.logs) * len(b)))
        columns = max(1, _AT_ONCE // len(self.logs))
        residual = np.empty((len(c), len(b), len(self.counts)))
        information = np.zeros_like(residual)
        for i in range(0, len(c), rows):
            for j in range(0, len(b), columns):
                part = (slice(i, i + rows), slice(j, j + columns))
                _, found, residual[part] = self._solve(c[part[0]], b[part[1]])
                if self.with_means:
                    information[part] = self.arm_sums(np.log(found))
        return Grid(b, residual, information)

    def terms(self, grid: Grid, *, per_arm: bool, restricted: bool = True) -> tuple[Floats, Floats]:
        """On a grid: the profile likelihood with the counts that the means leave, and −½·Σ log B."""
        used = self.own_scale if per_arm else np.ones(len(self.free), np.bool_)
        counts = (self.free if restricted else self.counts)[used].astype(np.float64)
        if per_arm:
            logs = np.log(grid.residual[..., used] / counts) @ counts
        else:
            logs = np.log(grid.residual.sum(axis=-1) / counts.sum()) * counts.sum()
        tilt = float(self.log_sums[used].sum()) * grid.b
        information = grid.log_information[..., used].sum(axis=-1) * float(restricted)
        return -0.5 * logs - tilt, -0.5 * information

    def log_likelihood(self, b: npt.ArrayLike, c: float = 1.0, *, restricted: bool = True) -> Floats:
        """l(c, b) for many b at one c, up to a constant; `restricted=False` is the plain profile likelihood."""
        values = np.atleast_1d(np.asarray(b, np.float64))
        found, information = self.terms(self.grid(np.array([c]), values), per_arm=self.per_arm, restricted=restricted)
        total: Floats = (found + information)[0]
        return total

    def information(self, b: float, c: float = 1.0) -> float:
        """The expected information about b, 2·[tr(MLML) − tr(ML)²/(N − K)] with L = diag(log x) and M what the means
        leave (I − uu' per mean, u ∝ x^(c−b)); for a scale per arm the bracket is summed over arms.

        1/√ of it is the standard error of b for Gaussian noise. With means known it is 2·Σ(log x − mean)².
        """
        pull = np.zeros(len(self.logs))  # how much of an observation the mean of its arm takes
        if self.with_means:
            squares = np.exp((2 * c - 2 * b) * self.logs)
            pull = squares / self.spread(self.sums(squares))
        centre = np.repeat(self.log_sums / self.counts, self.counts) if self.per_arm else 0.0
        logs = self.logs - centre
        once = self.arm_sums(self.sums((1 - pull) * logs))
        twice = self.sums((1 - 2 * pull) * np.square(logs)) + np.square(self.sums(pull * logs))
        if self.per_arm:
            used = self.own_scale
            return 2 * float((self.arm_sums(twice)[used] - np.square(once[used]) / self.free[used]).sum())
        return 2 * float(twice.sum() - np.square(once.sum()) / self.dof)

    def mean_information(self, c: float, b: float, scales: Floats) -> Floats:
        """The expected information about c by arm, (μ_i/σ_i)²·Σ x^(2c−2b)·(log x − centre)².

        The centre is the weighted mean of log x. `scales` holds σ by arm in the units here. It is 0 where the amount
        of an arm does not vary, or its mean is 0.
        """
        at = self.at(c, b)
        weights = np.exp((2 * c - 2 * b) * self.logs)
        centre = self.sums(weights * self.logs) / at.information
        scatter = self.sums(weights * np.square(self.logs - self.spread(centre)))
        known = np.isfinite(scales) & (scales > 0) & (self.own_scale if self.per_arm else self.free > 0)
        found = np.zeros(len(scales))
        found[known] = self.arm_sums(np.square(at.means) * scatter)[known] / np.square(scales[known])
        return found

    def part(self, arms: npt.NDArray[np.bool_]) -> "Data":
        """The same with these arms only."""
        rows = np.repeat(arms, self.counts)
        codes, amounts = (np.cumsum(arms) - 1)[self.codes[rows]], np.exp(self.logs[rows] + self.log_unit)
        blocks = None if self.blocks is None else self.blocks[rows]
        return Data(
            codes, amounts, self.y[rows] * self.size, per_arm=self.per_arm, means=self.with_means, blocks=blocks
        )
