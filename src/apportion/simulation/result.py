"""What a simulation found: an xarray Dataset with named coordinates and full provenance."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion._common import files, optional, validation
from apportion.errors import IncompatibleState
from apportion.model.world import World
from apportion.model.worlds import world_from_dict

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

FORMAT = "apportion.result"
QUANTILES = (0.05, 0.5, 0.95, 0.99)


class Result:
    """Regret and reward by policy, instance, replication and period.

    `dataset` is the xarray Dataset: `regret` and `reward` with dimensions (policy, instance, replication, period);
    on request `shares` and `active` with a last dimension `arm`, `leader`, and `eliminated` (the last period in which
    an arm was active, 0 if it stayed, NaN if it never was). The leader is the arm with the largest share, the first
    of them where several are; active are the arms that get at least half as much. Along `instance` there are also
    arms, b, c, sigma and gap (NaN where a world has no such number), noise, and world, the name of its class. The
    seed, the versions and the whole definition are in `provenance`.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self.dataset = dataset

    @property
    def regret(self) -> xr.DataArray:
        """Cumulated pseudo-regret, dimensions (policy, instance, replication, period)."""
        return self.dataset["regret"]

    @property
    def reward(self) -> xr.DataArray:
        """Cumulated reward, same dimensions."""
        return self.dataset["reward"]

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from: versions, seed, definition."""
        found: dict[str, Any] = json.loads(self.dataset.attrs["provenance"])
        return found

    @property
    def worlds(self) -> tuple[World, ...]:
        """The worlds that were played, from the definition; a user's module must be there to be imported."""
        return tuple(map(world_from_dict, self.provenance["definition"]["instances"]))

    def summary(self, variable: str = "regret") -> pd.DataFrame:
        """One row per policy and instance at the last period: mean, standard error, quantiles 5/50/95/99."""
        import numpy as np
        import pandas as pd

        recorded = tuple(name for name in ("regret", "reward") if name in self.dataset)
        final = self.dataset[validation.choice("variable", variable, recorded)].isel(period=-1)
        rows = []
        for policy in final["policy"].values:
            for instance in final["instance"].values:
                values = final.sel(policy=policy, instance=instance).values
                values = values[~np.isnan(values)]
                count = len(values)
                error = float(values.std(ddof=1) / count**0.5) if count > 1 else float("nan")
                quantiles = np.quantile(values, QUANTILES) if count else [float("nan")] * len(QUANTILES)
                mean = float(values.mean()) if count else float("nan")
                named = {f"q{100 * level:.0f}": float(value) for level, value in zip(QUANTILES, quantiles)}
                rows.append({"policy": str(policy), "instance": str(instance), "mean": mean, "se": error, **named})
        return pd.DataFrame(rows).set_index(["policy", "instance"])

    def to_dataframe(self) -> pd.DataFrame:
        """One row per policy, instance, replication and period, with what is known of the instance beside."""
        wanted = [name for name in ("regret", "reward", "leader") if name in self.dataset]
        return self.dataset[wanted].to_dataframe()

    def plot(self, **options: Any) -> Figure:
        """Regret against time with bands; see `apportion.reporting.figures.regret_over_time` for the options."""
        from apportion.reporting import figures

        return figures.regret_over_time(self, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a netCDF file that `load_result` reads; the old file stays until the new one is whole."""
        target = Path(path)
        try:
            with files.replacement(target) as draft:
                self.dataset.to_netcdf(draft, engine="h5netcdf", encoding=_compressed(self.dataset))
        except OSError as error:
            raise validation.refuse("path", "a file that can be written", f"{target} ({error})") from error

    def __repr__(self) -> str:
        sizes = ", ".join(f"{count} {_counted(str(name), count)}" for name, count in self.dataset.sizes.items())
        return f"<Result of {sizes}>"


def load_result(path: str | os.PathLike[str]) -> Result:
    """The result that `Result.save` wrote."""
    optional.require("lab", "A stored result")
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            dataset = opened.load()
    except FileNotFoundError:
        raise validation.refuse("path", "a file that `Result.save` wrote", str(path)) from None
    except (OSError, ValueError) as error:
        raise IncompatibleState(f"{path} cannot be read as a result: {error}") from error
    if dataset.attrs.get("format") != FORMAT:
        raise IncompatibleState(f"{path} is not a result of apportion.")
    return Result(dataset)


def _compressed(dataset: xr.Dataset) -> dict[Any, dict[str, Any]]:
    return {name: {"zlib": True, "complevel": 3} for name, array in dataset.data_vars.items() if array.ndim}


def labels(names: Sequence[str]) -> list[str]:
    """Names made different: the second of two alike gets ' #2'.

    >>> labels(["Odds", "UCB", "Odds"])
    ['Odds', 'UCB', 'Odds #2']
    """
    result: dict[str, None] = {}
    given = set(names)
    for name in names:
        numbered = (label for number in itertools.count(2) if (label := f"{name} #{number}") not in given)
        result[next(label for label in itertools.chain([name], numbered) if label not in result)] = None
    return list(result)


def _counted(name: str, count: int) -> str:
    if count == 1:
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
