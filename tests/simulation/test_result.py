"""`Result`: labels, tables, files."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import apportion as ap
from apportion.simulation.result import labels


@pytest.fixture(scope="module")
def result():
    worlds = [ap.Instance((1.0, 0.5), b=b) for b in (0.5, 0.75)]
    return ap.simulate(
        [ap.UCB(), ap.Uniform()], worlds, horizon=30, replications=7, seed=2, progress=False,
        record=("regret", "reward", "shares", "leader", "active", "eliminated"), periods=5,
    )  # fmt: skip


def test_it_says_what_it_holds(result):
    assert repr(result) == "<Result of 2 policies, 2 instances, 7 replications, 5 periods, 2 arms>"
    one = ap.simulate(ap.Uniform(), ap.Instance((1.0, 0.5), b=0.5), horizon=1, replications=1, seed=0, progress=False)
    assert repr(one) == "<Result of 1 policy, 1 instance, 1 replication, 1 period>"


def test_dimensions_and_coordinates(result):
    assert result.regret.dims == result.reward.dims == ("policy", "instance", "replication", "period")
    assert result.dataset["shares"].dims[-1] == "arm"
    assert result.regret["policy"].values.tolist() == ["UCB()", "Uniform()"]
    assert result.regret["replication"].values.tolist() == list(range(7))
    assert result.regret["b"].values.tolist() == [0.5, 0.75]
    assert result.regret.sel(policy="Uniform()").where(result.regret["b"] == 0.75, drop=True).sizes["instance"] == 1


def test_provenance_has_all_that_is_needed_to_run_it_again(result):
    provenance = result.provenance
    assert provenance["apportion"] == ap.__version__
    assert {"python", "numpy", "numba", "code", "machine"} <= set(provenance)
    definition = provenance["definition"]
    again = ap.simulate(
        [ap.policies.policy_from_dict(policy) for policy in definition["policies"]],
        [ap.Instance.from_dict(world) for world in definition["instances"]],
        **{name: definition[name] for name in ("horizon", "replications", "seed", "periods", "record", "common")},
        progress=False,
    )
    assert again.dataset.identical(result.dataset)


def test_summary_is_mean_error_and_quantiles(result):
    table = result.summary()
    values = result.regret.values[0, 1, :, -1]
    row = table.loc[("UCB()", "K=2 b=0.75 σ=1 Δmin=0.5")]
    assert list(table.columns) == ["mean", "se", "q5", "q50", "q95", "q99"]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["se"] == pytest.approx(values.std(ddof=1) / 7**0.5)
    np.testing.assert_allclose(row[["q5", "q50", "q95", "q99"]], np.quantile(values, (0.05, 0.5, 0.95, 0.99)))
    reward = result.summary("reward").loc[("Uniform()", "K=2 b=0.5 σ=1 Δmin=0.5"), "mean"]
    assert reward == pytest.approx(result.reward.values[1, 0, :, -1].mean())
    with pytest.raises(ap.InvalidValue, match="`variable` must be one of 'regret', 'reward'; got 'shares'"):
        result.summary("shares")


def test_to_dataframe_has_a_row_for_each(result):
    frame = result.to_dataframe()
    assert len(frame) == 2 * 2 * 7 * 5
    assert {"regret", "reward", "leader", "b", "arms", "gap", "sigma", "noise"} <= set(frame.columns)
    assert isinstance(frame, pd.DataFrame)


def test_a_file_brings_everything_back(result, tmp_path):
    path = tmp_path / "run.nc"
    result.save(path)
    back = ap.load_result(path)
    assert back.dataset.identical(result.dataset)
    assert back.dataset["active"].dtype == bool
    assert back.dataset["leader"].dtype == np.int32
    assert back.provenance == result.provenance
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    first = path.read_bytes()
    result.save(path)
    assert path.read_bytes() == first


def test_files_that_are_no_results_are_refused(result, tmp_path):
    with pytest.raises(ap.InvalidValue, match=r"`path` must be a file that `Result\.save` wrote"):
        ap.load_result(tmp_path / "missing.nc")
    with pytest.raises(ap.InvalidValue, match="`path` must be a file that can be written"):
        result.save(tmp_path / "missing" / "run.nc")
    result.save(tmp_path / "run.nc")
    content = (tmp_path / "run.nc").read_bytes()
    for name, bad in {"text": b"not a result", "empty": b"", "cut": content[: len(content) // 2]}.items():
        path = tmp_path / f"{name}.nc"
        path.write_bytes(bad)
        with pytest.raises(ap.IncompatibleState, match=f"{name}.nc cannot be read as a result"):
            ap.load_result(path)
    xr.Dataset({"x": ("t", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ap.IncompatibleState, match="is not a result of apportion"):
        ap.load_result(tmp_path / "other.nc")


def test_labels_are_made_different():
    assert labels(["A", "B", "A", "A"]) == ["A", "B", "A #2", "A #3"]
    assert labels(["A", "A", "A #2", "A #2"]) == ["A", "A #3", "A #2", "A #2 #2"]
    assert labels([]) == []
