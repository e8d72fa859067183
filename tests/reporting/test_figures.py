"""The pictures: what they say in words and numbers, that grey is enough to read them, and that they repeat."""

import itertools
import math
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

import apportion as ap
from apportion import theory
from apportion.errors import InvalidValue
from apportion.reporting import figures
from apportion.reporting.figures.bounds import guarantee
from apportion.reporting.figures.data import worlds_of
from apportion.simulation.simulate import simulate

# Each module of the package may import from those before it.
FLOW = ["style", "phrases", "data", "titles", "bounds", "canvas", "regret", "shares", "__init__"]

POLICIES = [ap.Odds, ap.Uniform(), ap.EpsilonGreedy]
NAMES = ["Odds", "Uniform()", "EpsilonGreedy"]


def worlds(**lists):
    """An instance per combination of b, arms and gap."""
    grid = {"b": [0.75], "arms": [3], "gap": [0.5], **lists}
    return [
        ap.Instance(means=(0.5 + gap, *[0.5] * (arms - 1)), b=b)
        for b, arms, gap in itertools.product(grid["b"], grid["arms"], grid["gap"])
    ]


def run(instances, policies=POLICIES, horizon=300, replications=8, **options):
    options = {"periods": 12, "progress": False, "seed": 3, **options}
    return simulate(policies, instances, horizon=horizon, replications=replications, **options)


@pytest.fixture(scope="module")
def one():
    return run(worlds(), record=("regret", "reward", "shares"))


@pytest.fixture(scope="module")
def several():
    return run(worlds(b=[0.6, 0.8], arms=[2, 4, 8]))


def policy_lines(ax, names=NAMES):
    """The lines that carry the name of a policy, by name."""
    found = {line.get_label(): line for line in ax.get_lines()}
    return {name: found[name.removesuffix("()")] for name in names if name.removesuffix("()") in found}


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_imports_point_one_way():
    folder = Path(figures.__file__).parent
    assert sorted(FLOW) == sorted(path.stem for path in folder.glob("*.py"))
    for index, name in enumerate(FLOW):
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        used = set(re.findall(r"apportion\.reporting\.figures\.(\w+) import", text))
        for modules in re.findall(r"from apportion\.reporting\.figures import (.+)", text):
            used |= set(modules.split(", "))
        assert used <= set(FLOW[:index]), name


def test_every_public_name_is_there():
    assert all(hasattr(figures, name) for name in figures.__all__)


class TestExponent:
    @given(
        power=st.floats(-3, 3),
        factor=st.floats(1e-6, 1e6),
        x=st.lists(st.integers(1, 10**6), min_size=3, max_size=8, unique=True),
    )
    def test_exact_power_laws(self, power, factor, x):
        slope, error = figures.fitted_exponent(x, factor * np.array(x, float) ** power)
        spread = np.ptp(np.log(x))
        assert slope == pytest.approx(power, abs=1e-9 / min(spread, 1))
        assert error <= 1e-9 / min(spread, 1)

    def test_against_numpy(self):
        rng = np.random.default_rng(1)
        x = np.array([2.0, 3, 5, 9, 20])
        y = x**0.7 * np.exp(0.1 * rng.standard_normal(5))
        coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
        slope, error = figures.fitted_exponent(x, y)
        assert slope == pytest.approx(coefficients[0])
        assert error == pytest.approx(math.sqrt(covariance[0, 0]))

    def test_errors_are_a_floor(self):
        x, y = [1.0, 10.0], [2.0, 20.0]
        assert math.isnan(figures.fitted_exponent(x, y)[1])
        # The slope is (log y2 - log y1)/log 10, each with relative error 0.1.
        assert figures.fitted_exponent(x, y, [0.2, 2.0])[1] == pytest.approx(0.1 * math.sqrt(2) / math.log(10))
        assert figures.fitted_exponent([1, 2, 4], [1, 2, 4], [0, 0, 0])[1] == pytest.approx(0, abs=1e-12)

    @pytest.mark.parametrize(
        ("x", "y"), [([1, 1], [1, 2]), ([1], [1]), ([1, 2], [1]), ([0, 1], [1, 2]), ([1, 2], [-1, 2])]
    )
    def test_refusals(self, x, y):
        with pytest.raises(InvalidValue, match=r"^`[xy]` must be .*; got "):
            figures.fitted_exponent(x, y)


class TestLook:
    def test_any_two_policies_differ_in_grey(self):
        looks = [figures.look(policy) for policy in range(40)]
        assert len({(repr(look.dashes), look.marker) for look in looks}) == 40

    def test_the_first_differ_in_every_way(self):
        looks = [figures.look(policy) for policy in range(5)]
        for part in zip(*looks):
            assert len(set(map(repr, part))) == 5

    def test_colours_stand_out_from_white(self):
        for colour in figures.PALETTE:
            light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
            assert 1.05 / (0.05 + np.dot(light, (0.2126, 0.7152, 0.0722))) > 2  # WCAG contrast of graphics, nearly

    def test_lines_in_a_picture_differ(self, one):
        lines = policy_lines(figures.regret_over_time(one).axes[0])
        looks = [(line._unscaled_dash_pattern, line.get_marker(), line.get_color()) for line in lines.values()]
        assert len(looks) == 3
        for first, second in itertools.combinations(looks, 2):
            assert first[0] != second[0]
            assert first[1] != second[1]

    def test_the_session_is_left_alone(self, one):
        with mpl.rc_context({"font.size": 33.0, "axes.facecolor": "black", "text.usetex": False}):
            before = dict(mpl.rcParams)
            figure = figures.regret_over_time(one)
            assert dict(mpl.rcParams) == before
            assert to_rgb(figure.axes[0].get_facecolor()) == (1, 1, 1)


class TestOverTime:
    def test_means_and_words(self, one):
        figure = figures.regret_over_time(one)
        (ax,) = figure.axes
        lines = policy_lines(ax)
        for name, line in lines.items():
            np.testing.assert_allclose(
                line.get_ydata(), one.regret.sel(policy=name).isel(instance=0).mean("replication")
            )
            np.testing.assert_array_equal(line.get_xdata(), one.dataset["period"])
        assert ax.get_xlabel() == "time in periods"
        assert ax.get_ylabel() == "regret so far, in units of reward"
        assert "after 300 periods" in " ".join(figure.get_suptitle().split())
        assert "Odds" in figure.get_suptitle()
        assert len(ax.collections) == 3
        assert any(text.startswith("Uniform: 100") for text in texts(figure))

    def test_bands_can_be_left_out(self, one):
        assert not figures.regret_over_time(one, bands=False).axes[0].collections

    def test_log_scale_has_the_lower_bound(self, one):
        (ax,) = figures.regret_over_time(one, scale="log").axes
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        (bound,) = [line for line in ax.get_lines() if "lower bound" in line.get_label()]
        expected = theory.minimax_lower_bound(arms=3, horizon=300, b=0.75)
        assert bound.get_ydata()[-1] == pytest.approx(expected)
        assert np.isnan(bound.get_ydata()[one.dataset["period"].values < 3]).all()
        assert len(figures.regret_over_time(one, scale="log", bounds=False).axes[0].get_lines()) == 3

    def test_bounds_only_where_they_apply(self):
        world = ap.Instance(means=(1.0, 0.5), b=0.4, noise="laplace")
        laplace = run([world], [ap.Thompson], replications=2)
        assert len(figures.regret_over_time(laplace, scale="log").axes[0].get_lines()) == 1
        gaussian = run([ap.Instance(means=(1.0, 0.5), b=0.4)], [ap.Thompson], replications=2)
        labels = [line.get_label() for line in figures.regret_over_time(gaussian, scale="log").axes[0].get_lines()]
        assert any("4.0 log t" in label for label in labels)  # 2/0.5 for the one gap

    def test_a_guarantee_is_there_where_sigma_bounds_the_noise(self):
        noises = (ap.Batch(p=0.5), ap.Batch(p=0.1), ap.CentredBernoulli(0.1), "laplace")
        worlds = [ap.Instance(means=(1.0, 0.5), b=0.75, noise=noise) for noise in noises]
        result = run(worlds, [ap.SuccessiveElimination], replications=2)
        kind = {"informed": "SuccessiveElimination", "parameters": {}}
        found = [guarantee(kind, world) is not None for world in worlds_of(result, None)]
        assert found == [True, False, True, False]  # Batch(p=0.1) has proxy 2

    def test_guarantee_of_elimination(self):
        world = ap.Instance(means=(1.0, 0.0), b=1.0)
        policies = [ap.Uniform(), ap.SuccessiveElimination, ap.SuccessiveElimination(b=0.6)]
        lines = figures.regret_over_time(run([world], policies, replications=2), scale="log").axes[0].get_lines()
        own, smaller = (line for line in lines if "guarantee" in line.get_label())  # also for a b that is too small
        assert "SuccessiveElimination" in own.get_label()
        np.testing.assert_allclose(own.get_ydata(), theory.elimination_regret_bound(world.means, horizon=300, b=1.0))
        assert smaller.get_ydata()[-1] > own.get_ydata()[-1]
        assert guarantee({"informed": "EpsilonGreedy", "parameters": {}}, world_of((0.6, 0.5), b=0.75)) > 1e6
        far = run([ap.Instance(means=(0.6, 0.5), b=0.75)], [ap.EpsilonGreedy], replications=2)
        drawn = figures.regret_over_time(far, scale="log").axes[0].get_lines()
        assert len(drawn) == 2  # its guarantee is far beyond ten times the data

    def test_small_multiples(self, several):
        figure = figures.regret_over_time(several)
        assert len(figure.axes) == 6
        headings = [ax.get_title(loc="left") for ax in figure.axes]
        assert headings[:2] == ["2 arms, b = 0.6", "4 arms, b = 0.6"]
        assert len(set(headings)) == 6
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()][:3] == ["Odds", "Uniform", "EpsilonGreedy"]
        assert "of 6 worlds" in figure.get_suptitle() or "all 6 worlds" in figure.get_suptitle()

    def test_at_most_six_panels_and_it_says_so(self):
        found = run(worlds(gap=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]), [ap.Uniform()], horizon=20, replications=1)
        figure = figures.regret_over_time(found, scale="log")
        assert len(figure.axes) == 6
        assert any("6 of 8 worlds shown" in text.get_text() for text in figure.texts)
        assert figure.axes[0].get_title(loc="left") == "gap 0.1"
        assert figure.axes[-1].get_title(loc="left") == "gap 0.8"

    def test_choice_by_label(self, several):
        label = str(several.dataset["instance"].values[4])
        assert len(figures.regret_over_time(several, instance=label).axes) == 1
        assert len(figures.regret_over_time(several, instance=[label, label]).axes) == 2
        with pytest.raises(InvalidValue, match=r"^`instance` must be one of 'K=2 b=0.6"):
            figures.regret_over_time(several, instance="nowhere")
        with pytest.raises(InvalidValue, match=r"^`scale` must be one of 'linear', 'log'; got 'cubic'"):
            figures.regret_over_time(several, scale="cubic")

    @pytest.mark.parametrize("scale", ["linear", "log"])
    def test_no_regret_at_all(self, scale, tmp_path):
        found = run(worlds(), [ap.Oracle], replications=2)
        figure = figures.regret_over_time(found, scale=scale)
        assert figure.get_suptitle() == "Oracle loses 0 after 300 periods"
        assert "Oracle: 0" in texts(figure)
        figures.save(figure, tmp_path / "nothing")

    def test_unfinished_runs_are_left_out(self, one):
        holed = changed(one, lambda regret: regret.where(regret["replication"] != 0))
        whole = figures.regret_over_time(one).axes[0].get_lines()[0].get_ydata()
        fewer = figures.regret_over_time(holed).axes[0].get_lines()[0].get_ydata()
        assert np.isfinite(fewer).all()
        assert (fewer != whole).any()
        empty = changed(one, lambda regret: regret.where(regret["policy"] != "Odds"))
        assert list(policy_lines(figures.regret_over_time(empty).axes[0])) == ["Uniform()", "EpsilonGreedy"]

    def test_a_single_recorded_period(self):
        found = run(worlds(), [ap.Uniform()], periods=1, replications=1)
        for scale in ("linear", "log"):
            figures.svg(figures.regret_over_time(found, scale=scale))

    def test_too_close_to_call(self):
        found = run(worlds(), [ap.Odds, ap.Odds(b=0.75, sigma=1.0)], common=True)
        assert "too close to call" in figures.regret_over_time(found).get_suptitle()

    def test_odd_labels_are_text(self, one):
        relabelled = type(one)(one.dataset.assign_coords(policy=["_hidden", "a $x^$ b", "c" * 70]))
        figures.svg(figures.regret_over_time(relabelled))
        figure = figures.final_regret_distribution(relabelled)
        figures.svg(figure)

    def test_result_plots_itself(self, one):
        assert one.plot(scale="log").axes[0].get_yscale() == "log"


def world_of(means, b):
    """The world of a figure, read back from a result."""
    return worlds_of(run([ap.Instance(means=means, b=b)], [ap.Uniform()], replications=1), None)[0]


def changed(result, change):
    """A result with its regret changed."""
    return type(result)(result.dataset.assign(regret=change(result.regret)))


class TestAgainst:
    @pytest.mark.parametrize("parameter", ["arms", "b"])
    def test_panels_for_what_else_varies(self, several, parameter):
        figure = figures.regret_against(several, parameter)
        assert len(figure.axes) == {"arms": 2, "b": 3}[parameter]
        assert {ax.get_yscale() for ax in figure.axes} == {"log"}
        assert {ax.get_xscale() for ax in figure.axes} == {{"arms": "log", "b": "linear"}[parameter]}

    def test_horizon_from_several_results(self):
        results = [run(worlds(), horizon=horizon, periods=1) for horizon in (100, 200, 400)]
        figure = figures.regret_against(results, "horizon")
        (ax,) = figure.axes
        assert ax.get_xlabel() == "horizon in periods"
        assert ax.get_ylabel() == "mean regret at the horizon, in units of reward"
        assert "Uniform\nexponent 1.00 ± 0.00" in texts(figure)
        assert "1.00 for Uniform" in figure.get_suptitle()
        lines = {container.get_label(): container.lines[0] for container in ax.containers}
        assert set(lines) == {"Odds", "Uniform", "EpsilonGreedy"}
        np.testing.assert_allclose(lines["Uniform"].get_ydata(), np.array([100, 200, 400]) / 3)
        assert [ax.xaxis.get_major_formatter()(tick) for tick in ax.get_xticks()] == ["100", "200", "400"]

    def test_gap_exponent(self):
        found = run(worlds(gap=[0.1, 0.2, 0.4]), [ap.Uniform()], replications=1)
        figure = figures.regret_against(found, "gap")
        assert texts(figure) == ["Uniform\nexponent 1.00 ± 0.00"]
        assert figure.axes[0].get_ylabel() == "mean regret after 300 periods, in units of reward"

    def test_error_bars_are_standard_errors(self):
        found = run(worlds(b=[0.6, 0.9]), [ap.Odds], replications=20)
        (ax,) = figures.regret_against(found, "b", bounds=False).axes
        (bars,) = ax.containers[0].lines[2]
        expected = found.summary()["se"].to_numpy()
        for segment, error in zip(bars.get_segments(), expected):
            assert np.ptp(segment[:, 1]) == pytest.approx(2 * error)

    def test_where_nothing_else_is_fixed(self):
        instances = [ap.Instance((0.5, 0.0), b=0.6), ap.Instance((0.7, 0.0, 0.0), b=0.8)]
        assert len(figures.regret_against(run(instances, [ap.Uniform()], replications=1), "arms").axes) == 1

    def test_worlds_alike_in_all_that_is_known(self):
        instances = [ap.Instance((0.5, 0.0, low), b=b) for low in (0.0, -1.0) for b in (0.6, 0.8)]
        figure = figures.regret_against(run(instances, [ap.Uniform()], replications=1), "b")
        assert len(figure.axes) == 2

    def test_no_regret_has_a_name_but_no_line(self):
        found = run(worlds(arms=[2, 4]), [ap.Oracle, ap.Uniform()], replications=2)
        figure = figures.regret_against(found, "arms")
        assert "Oracle\nno regret" in texts(figure)
        figures.svg(figure)
        only = run(worlds(arms=[2, 4]), [ap.Oracle], replications=2)
        figures.svg(figures.regret_against(only, "arms"))

    def test_refusals(self, one):
        with pytest.raises(
            InvalidValue, match=r"^`parameter` must be one of 'b', 'arms', 'gap', 'horizon'; got 'sigma'"
        ):
            figures.regret_against(one, "sigma")
        with pytest.raises(InvalidValue, match=r"^`parameter` must be one that varies in the results \(b is 0.75\)"):
            figures.regret_against(one, "b")
        with pytest.raises(InvalidValue, match=r"^`results` must be .*; got \[\]"):
            figures.regret_against([], "b")


class TestShares:
    def test_the_layers_add_up(self, one):
        figure = figures.shares_over_time(one, policy="Odds")
        (ax,) = figure.axes
        layers = [patch for patch in ax.patches if patch.get_fill()]
        assert len(layers) == 3
        np.testing.assert_allclose(layers[-1].get_data().values, 1.0)
        mean = one.dataset["shares"].sel(policy="Odds").isel(instance=0, arm=0).mean("replication")
        np.testing.assert_allclose(layers[0].get_data().values, mean)
        assert len({patch.get_hatch() for patch in layers}) == 3
        assert ax.get_xlabel() == "time in periods"
        assert ax.get_ylabel() == "share of the resource"
        assert figure.get_suptitle().startswith("Odds gives the best arm ")
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()][-1] == "arm 1, mean 1 (best)"

    def test_one_replication(self, one):
        layers = figures.shares_over_time(one, policy="Odds", replication=2, scale="linear").axes[0].patches
        expected = one.dataset["shares"].sel(policy="Odds").isel(instance=0, arm=0, replication=2)
        np.testing.assert_allclose(layers[0].get_data().values, expected)

    def test_many_arms_are_added_up(self):
        found = run(worlds(arms=[12]), [ap.Uniform()], replications=1, record=("regret", "shares"))
        figure = figures.shares_over_time(found, policy="Uniform()")
        layers = [patch for patch in figure.axes[0].patches if patch.get_fill()]
        assert len(layers) == 8
        assert figure.legends[0].get_texts()[0].get_text() == "5 other arms"
        np.testing.assert_allclose(layers[-1].get_data().values, 1.0)

    def test_refusals(self, one, several):
        with pytest.raises(
            InvalidValue, match=r"^`result` must be simulated with record=.*; got 'one with regret, reward'"
        ):
            figures.shares_over_time(several, policy="Odds", instance="any")
        with pytest.raises(InvalidValue, match=r"^`policy` must be one of 'Odds'"):
            figures.shares_over_time(one, policy="odds")
        with pytest.raises(InvalidValue, match=r"^`replication` must be a whole number in \[0, 7\]; got 8"):
            figures.shares_over_time(one, policy="Odds", replication=8)
        two = run(worlds(b=[0.6, 0.8]), [ap.Uniform()], replications=1, record=("shares", "regret"))
        with pytest.raises(InvalidValue, match=r"^`instance` must be given, one of 'K=3 b=0.6"):
            figures.shares_over_time(two, policy="Uniform()")


class TestDistribution:
    def test_a_row_per_policy(self, one):
        figure = figures.final_regret_distribution(one)
        (ax,) = figure.axes
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Odds", "Uniform", "EpsilonGreedy"]
        assert ax.get_xlabel() == "final regret of a run, in units of reward"
        assert ax.get_xscale() == "log"
        finals = one.regret.isel(period=-1, instance=0).values
        dots = ax.get_lines()[0]
        np.testing.assert_allclose(dots.get_xdata(), np.sort(finals[0]))
        diamonds = [line for line in ax.get_lines() if line.get_marker() == "D" and len(line.get_xdata()) == 1]
        np.testing.assert_allclose([line.get_xdata()[0] for line in diamonds], finals.mean(axis=1))
        assert figure.get_suptitle().startswith("99% of the runs of ")
        assert "mean 100, 99% up to 100" in texts(figure)

    def test_of_many_runs_the_extremes_stay(self):
        found = run(worlds(), [ap.Thompson], horizon=20, replications=900, periods=1)
        dots = figures.final_regret_distribution(found).axes[0].get_lines()[0].get_xdata()
        finals = found.regret.values.ravel()
        assert len(dots) == 400
        assert dots[-1] == finals.max()
        assert dots[0] == max(finals.min(), finals[finals > 0].min() / 1.5)  # zero stands at the left end

    def test_panels(self, several):
        figure = figures.final_regret_distribution(several)
        assert len(figure.axes) == 6

    def test_no_regret(self):
        figure = figures.final_regret_distribution(run(worlds(), [ap.Oracle], replications=2))
        assert texts(figure) == ["no regret"]
        figures.svg(figure)


class TestSave:
    def test_png_and_svg_side_by_side(self, one, tmp_path):
        png, vector = figures.save(figures.regret_over_time(one), tmp_path / "new" / "b=0.75")
        assert (png.name, vector.name) == ("b=0.75.png", "b=0.75.svg")
        assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert "<svg" in vector.read_text()

    def test_same_input_same_bytes(self, one, tmp_path):
        first = figures.save(figures.regret_over_time(one, scale="log"), tmp_path / "first")
        again = figures.save(figures.regret_over_time(one, scale="log"), tmp_path / "again")
        for before, after in zip(first, again):
            assert before.read_bytes() == after.read_bytes()

    def test_no_date(self, one):
        text = figures.svg(figures.shares_over_time(one, policy="Odds"))
        assert "dc:date" not in text
        assert text == figures.svg(figures.shares_over_time(one, policy="Odds"))
