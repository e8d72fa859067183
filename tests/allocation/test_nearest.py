"""The nearest split that keeps rules: against an oracle that tries every set of active conditions, and HiGHS."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from apportion.allocation.conflicts import Box, conflict, widening
from apportion.allocation.feasible import project
from apportion.allocation.nearest import Rows, nearest


def some_rows(rng, arms, count):
    """Sums and ratios with ends that a person would type; not all can be kept."""
    matrix, least, most = np.zeros((count, arms)), np.full(count, -np.inf), np.full(count, np.inf)
    for row in range(count):
        if arms == 1 or rng.random() < 0.6:
            matrix[row, rng.random(arms) < 0.5] = 1.0
            matrix[row, rng.integers(arms)] = 1.0
            end = rng.choice([0.0, 0.1, 0.2, 0.3, 0.5])
        else:
            one, other = rng.choice(arms, 2, replace=False)
            matrix[row, one], matrix[row, other] = 1.0, -rng.choice([0.5, 1.0, 2.0])
            end = rng.choice([0.0, 0.0, 0.1])
        kind = rng.random()
        if kind < 0.6:
            most[row] = end
        if kind > 0.4:
            least[row] = end
    return Rows(matrix, least, most)


@st.composite
def problems(draw, most_arms=6, zeros=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arms = draw(st.integers(1, most_arms))
    shares = rng.dirichlet(np.full(arms, draw(st.sampled_from([0.3, 1.0, 5.0])))) + 1e-9
    if zeros and arms > 1 and draw(st.booleans()):
        shares[rng.integers(arms)] = 0.0
    low = np.where(rng.random(arms) < 0.3, 0.2 * rng.random(arms), 0.0)
    high = np.minimum(np.where(rng.random(arms) < 0.3, low + 0.6 * rng.random(arms), 1.0), 1.0)
    return shares / shares.sum(), low, high, some_rows(rng, arms, draw(st.integers(0, 4)))


def can_be_kept(low, high, rows):
    above, below = np.isfinite(rows.most), np.isfinite(rows.least)
    return linprog(
        np.zeros(low.size), A_ub=np.concatenate([rows.matrix[above], -rows.matrix[below]]),
        b_ub=np.concatenate([rows.most[above], -rows.least[below]]), A_eq=np.ones((1, low.size)), b_eq=[1.0],
        bounds=np.column_stack([low, high]), method="highs",
    ).status == 0  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(problem=problems())
def test_there_is_an_answer_exactly_where_highs_says_so_and_it_keeps_everything(problem):
    _, low, high, rows = problem
    found = nearest(*problem)
    assert (found is not None) == can_be_kept(low, high, rows)
    if found is not None:
        assert abs(found.shares.sum() - 1.0) <= 1e-9
        assert ((found.shares >= low) & (found.shares <= high)).all()
        assert rows.kept(found.shares, 1e-9)


def by_trying_everything(shares, low, high, rows):
    """The quadratic program, by every set of conditions that may be active: the best that keeps all."""
    arms = shares.size
    conditions = [(row, end) for row, *ends in zip(*rows) for end in set(ends) if np.isfinite(end)]
    conditions += [(np.eye(arms)[arm], end) for arm in range(arms) for end in (low[arm], high[arm])]
    best, found = np.inf, None
    for size in range(arms):
        for chosen in itertools.combinations(conditions, size):
            matrix = np.array([np.ones(arms), *(row for row, _ in chosen)])
            ends = np.array([1.0, *(end for _, end in chosen)])
            system = np.block([[np.diag(1.0 / shares), -matrix.T], [matrix, np.zeros((size + 1, size + 1))]])
            solved = np.linalg.lstsq(system, np.concatenate([np.ones(arms), ends]), rcond=None)[0][:arms]
            keeps = abs(solved.sum() - 1.0) < 1e-7 and (solved > low - 1e-7).all() and (solved < high + 1e-7).all()
            if keeps and rows.kept(solved, 1e-7):
                distance = float(((solved - shares) ** 2 / shares).sum())
                if distance < best:
                    best, found = distance, solved
    return best, found


@settings(max_examples=40, deadline=None)
@given(problem=problems(most_arms=4, zeros=False))
def test_no_split_is_nearer_than_the_one_found(problem):
    shares, low, high, rows = problem
    shares = np.maximum(shares, 1e-3)
    shares /= shares.sum()
    found = nearest(shares, low, high, rows)
    if found is not None:
        best, split = by_trying_everything(shares, low, high, rows)
        assert split is not None
        assert float(((found.shares - shares) ** 2 / shares).sum()) <= best + 1e-6


@settings(max_examples=100, deadline=None)
@given(problem=problems(most_arms=12))
def test_without_rules_it_is_what_project_gives(problem):
    shares, low, high, _ = problem
    none = Rows(np.zeros((0, shares.size)), np.zeros(0), np.zeros(0))
    found = nearest(shares, low, high, none)
    if found is not None and (shares[shares > 0.0].size == shares.size or high[shares > 0.0].sum() > 1.0):
        np.testing.assert_allclose(found.shares, project(shares, low, high), atol=1e-9)


def water_filled(shares, groups, most):
    """Disjoint groups with a largest share each, by scaling: those that are full keep theirs, the others share."""
    out, full = shares.copy(), set()
    for _ in range(len(groups) + 1):
        free = [arm for arm in range(shares.size) if not any(arm in groups[g] for g in full)]
        scale = (1.0 - sum(most[g] for g in full)) / shares[free].sum()
        out[free] = scale * shares[free]
        more = {g for g in range(len(groups)) if g not in full and out[groups[g]].sum() > most[g] + 1e-15}
        if not more:
            return out
        for g in more:
            out[groups[g]] = shares[groups[g]] * most[g] / shares[groups[g]].sum()
        full |= more
    return out


def test_disjoint_groups_are_filled_like_water():
    rng = np.random.default_rng(5)
    for _ in range(50):
        shares = rng.dirichlet(np.ones(12))
        groups = [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
        most = rng.uniform(0.05, 0.4, 3)
        rows = Rows(np.array([np.isin(np.arange(12), group) * 1.0 for group in groups]), np.full(3, -np.inf), most)
        found = nearest(shares, np.zeros(12), np.ones(12), rows)
        np.testing.assert_allclose(found.shares, water_filled(shares, groups, most), atol=1e-10)


def test_what_is_wanted_nothing_gets_nothing_unless_it_must_and_then_all_alike():
    shares = np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    most = Rows(np.array([[1.0, 0, 0, 0, 0]]), np.array([-np.inf]), np.array([0.2]))
    np.testing.assert_allclose(nearest(shares, np.zeros(5), np.ones(5), most).shares, [0.2, 0.8, 0, 0, 0], atol=1e-9)
    region = Rows(np.array([[0.0, 0, 1, 1, 0]]), np.array([0.2]), np.array([np.inf]))
    found = nearest(shares, np.zeros(5), np.ones(5), region)
    np.testing.assert_allclose(found.shares, [0.4, 0.4, 0.1, 0.1, 0.0], atol=1e-5)


def test_how_hard_a_rule_pulls_has_the_sign_of_its_end():
    shares, zeros, ones = np.array([0.2, 0.6, 0.2]), np.zeros(3), np.ones(3)
    rows = Rows(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]), np.array([-np.inf, 0.4, 0]), np.array([0.4, 1, 1]))
    found = nearest(shares, zeros, ones, rows)
    assert found.pulls[0] < 0.0 < found.pulls[1]
    assert found.pulls[2] == 0.0


@pytest.mark.parametrize("arms", [2, 7, 200])
def test_limits_are_widened_evenly_and_no_further_than_needed(arms):
    rng = np.random.default_rng(arms)
    centre = rng.dirichlet(np.ones(arms))
    narrow = Box(np.maximum(centre - 0.01, 0.0), np.minimum(centre + 0.01, 1.0))
    wide = Box(np.zeros(arms), np.ones(arms))
    rows = Rows(np.eye(arms)[:1], np.array([min(centre[0] + 0.3, 0.9)]), np.array([np.inf]))
    part = widening(narrow, wide, rows)
    assert 0.0 < part < 1.0
    assert nearest(centre, *narrow.within(wide, part), rows) is not None
    assert nearest(centre, *narrow.within(wide, 0.99 * part), rows) is None
    assert widening(narrow, wide, Rows(np.ones((1, arms)), np.array([1.5]), np.array([np.inf]))) is None


def least_part(narrow, wide, rows, soft):
    """`widening` as a linear program in the shares and t, by HiGHS."""
    count = narrow.low.size
    parts = [
        (np.eye(count), narrow.high, wide.high - narrow.high),
        (-np.eye(count), -narrow.low, narrow.low - wide.low),
    ]
    for each, room in ((rows, 0.0), (soft, 1.0)):
        parts += [(each.matrix, each.most, room), (-each.matrix, -each.least, room)]
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.concatenate([np.column_stack([each, -np.broadcast_to(room, len(each))]) for each, _, room in parts]),
        b_ub=np.concatenate([end for _, end, _ in parts]),
        A_eq=np.append(np.ones(count), 0.0)[np.newaxis], b_eq=[1.0], bounds=[(0.0, 1.0)] * (count + 1),
        method="highs",
    )  # fmt: skip
    return found.x[-1] if found.status == 0 else None


def test_the_least_widening_is_that_of_a_linear_program():
    rng = np.random.default_rng(20)
    found = []
    for _ in range(150):
        arms, many = int(rng.integers(2, 30)), int(rng.integers(1, 6))
        centre = rng.dirichlet(np.ones(arms))
        width = rng.uniform(0.005, 0.05)
        narrow = Box(np.maximum(centre - width, 0.0), np.minimum(centre + width, 1.0))
        wide = Box(np.zeros(arms), np.minimum(narrow.high + rng.uniform(0.2, 1.0), 1.0))
        matrix = (rng.random((many + 1, arms)) < 0.4) * 1.0
        middle = matrix @ rng.dirichlet(np.ones(arms))
        slack = rng.uniform(0.0, 0.1, many + 1)
        rows = Rows(matrix[1:], (middle - slack)[1:], (middle + slack)[1:])
        soft = Rows(matrix[:1], np.array([matrix[0] @ centre - 0.02]), np.array([matrix[0] @ centre + 0.02]))
        part, expected = widening(narrow, wide, rows, soft), least_part(narrow, wide, rows, soft)
        assert (part is None) == (expected is None)
        if part is not None:
            assert part == pytest.approx(expected, abs=1e-8)
            found.append(part)
    assert sum(part > 1e-6 for part in found) > 80
    assert len(found) < 150


def test_rules_in_the_way_are_each_needed():
    """Of random rules that leave no split, what the error names leaves none, and without any of it there is one."""
    rng = np.random.default_rng(21)
    seen = 0
    for _ in range(60):
        arms, many = int(rng.integers(3, 12)), int(rng.integers(2, 9))
        matrix = (rng.random((many, arms)) < 0.5) * 1.0
        least, most = rng.uniform(0.1, 0.9, many), np.full(many, np.inf)
        flip = rng.random(many) < 0.5
        least, most = np.where(flip, -np.inf, least), np.where(flip, least, most)
        rows, zeros, ones = Rows(matrix, least, most), np.zeros(arms), np.ones(arms)
        even = np.full(arms, 1.0 / arms)
        if nearest(even, zeros, ones, rows) is not None:
            continue
        seen += 1
        texts = [f"rule {n}." for n in range(many)]
        said = str(conflict(rows, texts, zeros, ones, [f"arm {n}" for n in range(arms)], at="of the budget"))
        named = [n for n in range(many) if texts[n] in said]
        assert named
        for left_out in (None, *named):
            kept = [n for n in named if n != left_out]
            alone = nearest(even, zeros, ones, Rows(matrix[kept], least[kept], most[kept]))
            assert (alone is None) == (left_out is None), (said, left_out)
    assert seen > 15
