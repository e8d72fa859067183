"""The law Y = A·μ + A^b·σ·ξ and its noise families."""

import dataclasses
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion._common.compiled import compiled
from apportion.errors import ApportionError, InvalidValue
from apportion.model import law
from apportion.model import world as worlds
from apportion.model.law import AmountTerms, Instance, respond
from apportion.model.noise import (
    Batch,
    CentredBernoulli,
    FractionalBrownian,
    Gaussian,
    Laplace,
    Rademacher,
    Stable,
    StudentT,
    UniformNoise,
    bernoulli_proxy,
    noise_family,
)

FAMILIES = [
    Gaussian(),
    UniformNoise(),
    Rademacher(),
    CentredBernoulli(0.2),
    CentredBernoulli(0.5),
    CentredBernoulli(0.97),
    Laplace(),
    StudentT(5.0),
    StudentT(2.5),
    Batch(100.0, 0.5),
    Batch(3.0, 0.1),
    Batch(5000.0, 0.9),
    FractionalBrownian(0.75),
    Stable(1.5),
    Stable(2.0),
]
NAMES = [
    "gaussian", "uniform", "rademacher", "bernoulli", "laplace", "student", "batch", "fractional", "stable",
]  # fmt: skip


def each_family(families=FAMILIES):
    return pytest.mark.parametrize("noise", families, ids=repr)


# --- noise families: distributions -------------------------------------------------------------------------

FOURTH_MOMENT = {"gaussian": 3.0, "uniform": 1.8, "rademacher": 1.0, "laplace": 6.0, "student": 9.0}
FOURTH_MOMENT |= {"fractional": 3.0, "stable": 3.0}  # at α = 2


# The fourth moment of the two others is infinite.
@each_family([family for family in FAMILIES if family not in (StudentT(2.5), Stable(1.5))])
def test_moments(noise):
    """Mean 0 and the stated variance, each within 5 standard errors: 6e-7 a family and moment."""
    n = 200_000
    world = Instance((0.0,), b=0.5, noise=noise)
    xi = world.draw_block(np.ones((n, 1)), np.random.default_rng(11))[:, 0]
    variance = noise.variance
    fourth = FOURTH_MOMENT.get(noise.name)
    if fourth is None:  # two-point, or a batch of two-point epochs
        p = noise.p
        excess = (1 - 6 * p * (1 - p)) / (p * (1 - p))
        fourth = (3 + excess / (noise.epochs if noise.name == "batch" else 1.0)) * variance**2
    assert abs(xi.mean()) < 5 * math.sqrt(variance / n)
    # The mean of ξ² has variance (E ξ⁴ − v²)/n, which is 0 for Rademacher.
    assert abs((xi**2).mean() - variance) <= 5 * math.sqrt(max(fourth - variance**2, 0.0) / n) + 1e-12


def test_correlated_epochs_add_up_to_the_hurst_power_of_their_number():
    """n unit steps of fractional Gaussian noise, with its covariance, have a sum of standard deviation n^H."""
    for hurst in (0.2, 0.5, 0.75, 1.0):
        lag = np.arange(200.0)
        covariance = 0.5 * ((lag + 1) ** (2 * hurst) - 2 * lag ** (2 * hurst) + np.abs(lag - 1) ** (2 * hurst))
        for n in (1, 2, 17, 200):
            steps = covariance[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))]
            assert math.sqrt(steps.sum()) == pytest.approx(n**hurst, rel=1e-9)


def test_self_similar_families_say_their_b():
    assert FractionalBrownian(0.3).exponent == 0.3
    assert Stable(1.6).exponent == pytest.approx(0.625)
    assert FractionalBrownian(0.3).sub_gaussian
    assert not Stable(1.999).sub_gaussian
    assert math.isinf(Stable(1.5).variance)
    # With b = H an amount's returns have the spread of a path of that length.
    world = Instance((0.0,), b=0.75, noise=FractionalBrownian(0.75))
    drawn = world.draw_block(np.full((20_000, 1), 16.0), np.random.default_rng(5))[:, 0]
    assert abs(drawn.std() / 8.0 - 1) < 5 / math.sqrt(2 * 20_000)


def stable_draws(alpha, count, seed):
    world = Instance((0.0,), b=0.5, noise=Stable(alpha))
    return world.draw_block(np.ones((count, 1)), np.random.default_rng(seed))[:, 0]


@pytest.mark.parametrize("alpha", [1.05, 1.5, 1.9, 2.0])
def test_stable_noise_has_its_characteristic_function(alpha):
    """E cos(kξ) = exp(−(k/√2)^α), each within 5 standard errors of at most √(1/2n): 20 of 6e-7."""
    drawn = stable_draws(alpha, 40_000, 6)
    for k in (0.1, 0.5, 1.0, 2.0, 4.0):
        found = np.cos(k * drawn)
        expected = math.exp(-((k / math.sqrt(2)) ** alpha))
        assert abs(found.mean() - expected) < 5 * found.std() / math.sqrt(len(drawn))


def test_stable_epochs_add_up_to_the_power_one_over_alpha_of_their_number():
    """Sums of 16 draws over 16^(1/α) have the law of one: quantiles within 5 errors (by the binomial)."""
    for alpha in (1.25, 1.6):
        drawn = stable_draws(alpha, 160_000, 7)
        sums = drawn.reshape(-1, 16).sum(axis=1) / 16 ** (1 / alpha)
        for level in (0.1, 0.25, 0.5, 0.9):
            below = np.mean(sums <= np.quantile(drawn, level))
            assert abs(below - level) < 5 * math.sqrt(level * (1 - level) * (1 / 10_000 + 1 / 160_000))


def test_supports():
    rng = np.random.default_rng(2)
    draw = {noise: [law.draw_noise(noise, 1.0, rng) for _ in range(2000)] for noise in FAMILIES}
    assert max(map(abs, draw[UniformNoise()])) <= math.sqrt(3.0)
    assert set(draw[Rademacher()]) == {-1.0, 1.0}
    assert set(draw[CentredBernoulli(0.5)]) == {-1.0, 1.0}
    assert len(set(draw[CentredBernoulli(0.2)])) == 2
    assert len(set(draw[Batch(3.0, 0.1)])) == 4


def test_batch_counts_epochs_by_amount():
    """0.1 of a unit of 30 epochs is 3 epochs; an amount too small for one is still one; a huge one runs."""
    rng = np.random.default_rng(3)
    noise = Batch(30.0, 0.5)
    assert {law.draw_noise(noise, 0.1, rng) for _ in range(500)} == {(k - 1.5) / math.sqrt(0.75) for k in range(4)}
    assert {law.draw_noise(noise, 1e-9, rng) for _ in range(100)} == {-1.0, 1.0}
    assert math.isfinite(law.draw_noise(noise, 1e300, rng))


GRID = np.concatenate([sign * np.geomspace(1e-2, 60.0, 400) for sign in (1.0, -1.0)])


def log_mgf_bernoulli(x, p):
    """log E exp(x·(X − p)), X ~ Bernoulli(p)."""
    return np.logaddexp(math.log(p) + x * (1 - p), math.log1p(-p) - x * p)


def log_mgf(noise, x):
    if noise.name == "gaussian":
        return x**2 / 2
    if noise.name == "uniform":
        y = np.abs(math.sqrt(3.0) * x)
        return y + np.log(-np.expm1(-2 * y) / (2 * y))
    if noise.name == "rademacher":
        return np.logaddexp(x, -x) - math.log(2.0)
    if noise.name == "bernoulli":
        return log_mgf_bernoulli(x / math.sqrt(bernoulli_proxy(noise.p)), noise.p)
    m = round(noise.epochs)
    return m * log_mgf_bernoulli(x / math.sqrt(m * noise.p * (1 - noise.p)), noise.p)


@each_family(
    [Gaussian(), UniformNoise(), Rademacher(), Batch(10.0, 0.5)]
    + [CentredBernoulli(p) for p in (1e-6, 0.01, 0.2, 0.4999999, 0.5, 0.8, 1 - 1e-6)]
)
def test_sub_gaussian_families_satisfy_the_inequality(noise):
    """E e^(λξ) ≤ e^(λ²/2) on a grid of λ, from the distribution and not by simulation."""
    assert noise.sub_gaussian
    assert noise.proxy == 1.0
    assert np.all(log_mgf(noise, GRID) <= GRID**2 / 2 * (1 + 1e-12) + 1e-13)


@pytest.mark.parametrize("p", [0.001, 0.2, 0.45, 0.9])
def test_the_bernoulli_proxy_is_optimal(p):
    """The inequality is an equality at λ = 2·log((1 − p)/p) for X − p, so no smaller proxy would do."""
    x = 2 * math.log((1 - p) / p)
    assert log_mgf_bernoulli(x, p) == pytest.approx(bernoulli_proxy(p) * x**2 / 2, rel=1e-12)


def test_the_bernoulli_proxy_is_smooth_at_one_half_and_symmetric():
    for distance in (1e-12, 1e-9, 1e-5):
        assert bernoulli_proxy(0.5 - distance) == pytest.approx(0.25 - distance**2 / 3, rel=1e-14)
    for p in (1e-9, 0.1, 0.25, 0.3):
        assert bernoulli_proxy(1 - p) == pytest.approx(bernoulli_proxy(p), rel=1e-7)
    for p in (1e-300, 1e-9, 0.3, 0.7, 1 - 1e-16):
        assert 0 < bernoulli_proxy(p) < 0.25


def test_what_is_outside_of_the_guarantees_says_so():
    assert not Laplace().sub_gaussian
    assert not StudentT(5.0).sub_gaussian
    skewed = Batch(10.0, 0.1)
    assert not skewed.sub_gaussian
    assert np.all(log_mgf(skewed, GRID) <= skewed.proxy * GRID**2 / 2 * (1 + 1e-12))
    assert np.any(log_mgf(skewed, GRID) > GRID**2 / 2 * (1 + 1e-6))
    for family in (Laplace, StudentT):
        assert "outside of the guarantees" in family.__doc__


# --- noise families: records -------------------------------------------------------------------------------


def test_families_show_themselves_also_after_compilation():
    plain_and_compiled(StudentT(5.0), 0.5, np.ones((1, 1)))
    assert repr(StudentT(5.0)) == "StudentT(degrees=5.0)"
    assert repr(Gaussian()) == "Gaussian()"


def test_families_are_told_apart():
    """Bare empty tuples would all be equal."""
    assert len({Gaussian(), UniformNoise(), Rademacher(), Laplace(), Gaussian()}) == 4
    assert Gaussian() == Gaussian()
    assert Gaussian() != Laplace()
    assert StudentT(3.0) != StudentT(4.0)
    assert Gaussian() != ()
    assert bool(Gaussian())


@each_family()
def test_a_family_survives_json_and_pickle(noise):
    assert noise_family(json.loads(json.dumps(noise.describe()))) == noise
    assert pickle.loads(pickle.dumps(noise)) == noise
    assert noise_family(noise) is noise


@pytest.mark.parametrize("name", NAMES)
def test_a_family_has_a_name(name):
    assert noise_family(name).name == name


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CentredBernoulli(1.0), "`p` must be a number in (0, 1); got 1.0."),
        (lambda: StudentT(2), "`degrees` must be a number above 2; got 2."),
        (lambda: StudentT("3"), "`degrees` must be a number above 2; got '3'."),
        (lambda: Batch(epochs=0), "`epochs` must be a number above 0; got 0."),
        (lambda: Batch(p=math.nan), "`p` must be a number in (0, 1); got nan."),
        (
            lambda: noise_family({"name": "student", "df": 4}),
            "`noise` must be 'student' with 'degrees'; got 'df'.",
        ),
        (
            lambda: noise_family({"name": "laplace", "p": 4}),
            "`noise` must be 'laplace' without parameters; got 'p'.",
        ),
    ],
)
def test_bad_parameters(make, sentence):
    with pytest.raises(InvalidValue) as error:
        make()
    assert str(error.value) == sentence


@pytest.mark.parametrize("value", ["normal", None, 3, {"degrees": 3}, Gaussian, {"name": ["gaussian"]}])
def test_an_unknown_family_lists_the_known(value):
    with pytest.raises(InvalidValue, match=r"`noise` must be one of 'gaussian', 'uniform'.*'batch'"):
        noise_family(value)


# --- the law -----------------------------------------------------------------------------------------------


def plain_and_compiled(noise, b, amounts, bits=np.random.PCG64, c=1.0, sigma=1.7):
    results = []
    instance = Instance(np.linspace(-1.0, 1.0, amounts.shape[1]), b, sigma, c, noise)
    for play in (worlds.play_amounts, compiled(worlds.play_amounts)):
        rng = np.random.Generator(bits(5))
        played = worlds.Played(amounts, np.full(amounts.shape, np.nan), *(np.zeros(len(amounts)) for _ in range(3)))
        play(instance.record(), 0, np.zeros(0), rng, False, played)
        results.append((np.column_stack(played), rng.bit_generator.state))
    return results


@each_family()
def test_plain_equals_compiled_bit_for_bit(noise):
    amounts = np.random.default_rng(1).exponential(size=(60, 5)) * [0.0, 1e-8, 0.3, 1.0, 700.0]
    amounts[::7] = 0.0
    for b in (0.0, 0.31, 0.5, 0.75, 1.0):
        for bits in (np.random.PCG64, np.random.SFC64):
            (plain, state), (machine, machine_state) = plain_and_compiled(noise, b, amounts, bits)
            np.testing.assert_array_equal(plain, machine)
            np.testing.assert_equal(state, machine_state)
    (plain, _), (machine, _) = plain_and_compiled(noise, 0.4, amounts, c=0.7, sigma=(0.1, 1.0, 2.0, 3.0, 4.0))
    np.testing.assert_allclose(plain, machine, rtol=1e-14)


@each_family()
def test_a_block_is_its_rows_drawn_in_turn(noise):
    world = Instance((0.2, 0.9, 0.5), b=0.6, sigma=0.4, noise=noise)
    amounts = np.random.default_rng(1).dirichlet(np.ones(3), size=40)
    amounts[3] = 0.0
    amounts[5, 1] = 0.0
    one, block = np.random.default_rng(8), np.random.default_rng(8)
    rows = [world.draw(row, one) for row in amounts]
    np.testing.assert_array_equal(world.draw_block(amounts, block), rows)
    assert one.bit_generator.state == block.bit_generator.state


def test_a_large_block_runs_compiled_with_the_same_numbers():
    world = Instance((0.2, 0.9), b=0.6)
    amounts = np.random.default_rng(1).dirichlet(np.ones(2), size=worlds._COMPILE_FROM)
    head = world.draw_block(amounts[:50], np.random.default_rng(8))
    np.testing.assert_array_equal(world.draw_block(amounts, np.random.default_rng(8))[:50], head)


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
@each_family()
def test_an_arm_without_resource_is_not_observed_and_draws_nothing(noise, b):
    world = Instance((0.5, 0.6, 0.7), b=b, noise=noise)
    all_, some = np.random.default_rng(4), np.random.default_rng(4)
    outcomes = world.draw([0.0, 0.4, -0.0], some)
    assert np.isnan(outcomes[[0, 2]]).all()
    assert outcomes[1] == respond(world.record(), 1, 0.6, AmountTerms(0.4, 0.4, 0.4**b), all_)[1]
    assert all_.bit_generator.state == some.bit_generator.state


@given(
    amount=st.floats(1e-12, 1e12),
    mean=st.floats(-1e3, 1e3),
    b=st.floats(0, 1),
    sigma=st.floats(1e-3, 1e3),
)
@settings(deadline=None, max_examples=50)
def test_the_law(amount, mean, b, sigma):
    """Y = A·μ + A^b·σ·ξ for any amount, with the very ξ of the stream."""
    xi = np.random.default_rng(1).standard_normal()
    y = Instance((mean,), b=b, sigma=sigma).draw([amount], np.random.default_rng(1))[0]
    expected = amount * mean + amount**b * sigma * xi
    assert y == pytest.approx(expected, rel=1e-12, abs=1e-12 * abs(amount * mean))


def test_dividing_or_pooling():
    """The toy check: K arms, K periods. Pooling gives variance σ², dividing σ²·K^(1−2b).

    The variance of a mean of n = 4000 normal draws' squares has relative error √(2/n) = 2.2%; 5 of these.
    """
    arms, n = 10, 4000
    for b in (0.25, 0.5, 0.75):
        world = Instance((0.5,) * arms, b=b)
        shares = np.full((n * arms, arms), 1.0 / arms)
        total = world.draw_block(shares, np.random.default_rng(6))[:, 0].reshape(n, arms).sum(axis=1)
        assert total.var() == pytest.approx(arms ** (1 - 2 * b), rel=0.11)


# --- instances ---------------------------------------------------------------------------------------------


def test_properties():
    world = Instance(means=[0.9, 1, 0.7, 1.0], b=0.75, sigma=2, noise="rademacher")
    assert world.means == (0.9, 1.0, 0.7, 1.0)
    assert (world.arms, world.best, world.best_mean) == (4, 1, 1.0)
    assert world.gaps == pytest.approx((0.1, 0.0, 0.3, 0.0))
    assert world.label == "K=4 b=0.75 σ=2 Δmin=0.1 rademacher"
    assert Instance((0.5, 0.5), b=0).label == "K=2 b=0 σ=1 Δmin=0"
    assert world.regret([0.25] * 4) == pytest.approx(0.1)
    assert world.regret([[1, 0, 0, 0], [0, 0, 50, 0]]) == pytest.approx(15.1)


def test_instances_are_values():
    world = Instance((0.9, 1.0), b=0.5)
    assert world == Instance(np.array([0.9, 1.0]), b=np.float64(0.5))
    assert world != Instance((0.9, 1.0), b=0.5, noise="laplace")
    assert len({world, Instance((0.9, 1.0), b=0.5), Instance((0.9, 1.0), b=0.5, noise="uniform")}) == 2
    world.gaps  # a cached property must not change equality, hash or pickle
    assert hash(world) == hash(Instance((0.9, 1.0), b=0.5))
    assert pickle.loads(pickle.dumps(world)) == world
    with pytest.raises(dataclasses.FrozenInstanceError):
        world.b = 0.7
    changed = dataclasses.replace(world, b=0.7, noise="laplace")
    assert (changed.b, changed.noise, changed.means) == (0.7, Laplace(), world.means)


@each_family()
def test_an_instance_survives_json(noise):
    world = Instance((0.1, 1 / 3), b=0.7, sigma=1e-3, noise=noise)
    assert Instance.from_dict(json.loads(json.dumps(world.to_dict()))) == world


WORLD = Instance((0.9, 1.0), b=0.5)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Instance((1.0,), b=1.3), "`b` must be a number in [0, 1]; got 1.3."),
        (lambda: Instance((1.0,), b=None), "`b` must be a number in [0, 1]; got None."),
        (lambda: Instance((1.0,), b=0.5, sigma=0), "`sigma` must be a number above 0; got 0."),
        (lambda: Instance((1.0,), b=0.5, sigma=math.inf), "`sigma` must be a number above 0; got inf."),
        (lambda: Instance((), b=0.5), "`means` must be a list with at least one number; got []."),
        (lambda: Instance(1.0, b=0.5), "`means` must be a list with one number per arm; got 1.0."),
        (lambda: Instance("12", b=0.5), "`means` must be a list with one number per arm; got '12'."),
        (lambda: Instance((1.0, math.nan), b=0.5), "`means[1]` must be a number, finite; got nan."),
        (lambda: Instance((1.0, "x"), b=0.5), "`means[1]` must be a number, finite; got 'x'."),
        (lambda: WORLD.draw([0.5, -0.1], RNG), "`amounts` must be non-negative finite numbers; got -0.1."),
        (lambda: WORLD.draw([math.nan, 1], RNG), "`amounts` must be non-negative finite numbers; got nan."),
        (
            lambda: WORLD.draw([1.0], RNG),
            "`amounts` must be one amount per arm, of shape (2,); got (1,).",
        ),
        (
            lambda: WORLD.draw_block([0.5, 0.5], RNG),
            "`amounts` must be one amount per arm, of shape (n, 2); got (2,).",
        ),
        (lambda: WORLD.draw("ab", RNG), "`amounts` must be one amount per arm, of shape (2,); got 'ab'."),
        (lambda: WORLD.draw([0.5, 0.5], 7), "`rng` must be a numpy.random.Generator; got 7."),
        (
            lambda: Instance.from_dict({"means": [1.0]}),
            "`instance` must be a mapping with means, b and optionally sigma, noise, c; got ['means'].",
        ),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises(ApportionError) as error:
        make()
    assert str(error.value) == sentence


def test_importing_and_drawing_little_loads_no_compiler():
    code = (
        "import sys, numpy as np; from apportion.model.law import Instance; import apportion.allocation.feasible\n"
        "Instance((0.9, 1.0), b=0.5).draw_block(np.ones((10, 2)), np.random.default_rng(0))\n"
        "assert not {'numba', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
