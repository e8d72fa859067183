"""Every error that a program may want to catch has a public name, which costs nothing to say."""

import subprocess
import sys

import apportion as ap
from apportion import client
from apportion.campaigns.storage import address
from apportion.simulation import sweep

NAMES = ("StoreUnavailable", "ServiceUnavailable", "NotAllowed", "SimulationFailed")


def test_errors_have_one_definition_wherever_they_are_imported_from():
    assert ap.StoreUnavailable is address.StoreUnavailable
    assert (ap.ServiceUnavailable, ap.NotAllowed) == (client.ServiceUnavailable, client.NotAllowed)
    assert ap.SimulationFailed is sweep.SimulationFailed
    assert all(issubclass(getattr(ap, name), ap.ApportionError) for name in NAMES)
    assert set(NAMES) <= set(ap.__all__)


def test_to_catch_an_error_imports_nothing_heavy():
    code = (
        f"import sys, apportion as ap; [getattr(ap, name) for name in {NAMES!r}]\n"
        "print([name for name in ('numpy', 'numba', 'sqlalchemy', 'xarray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
