"""A new policy, or a new family of noise, is found at every door once it is in its table."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apportion

SOURCE = Path(apportion.__file__).parent
REPOSITORY = SOURCE.parents[1]

POLICY = """
'''A policy that is new.'''

from apportion.policies.contract import Policy
from apportion.policies.parameters import NOISE_EXPONENT, Number, parameter


class Newcomer(Policy):
    '''Even shares.'''

    b: float = parameter(NOISE_EXPONENT)
    zeal: float = parameter(Number(above=0.0, hint="how keen it is"), default=2.0)
    rule = "is new here"

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)
"""

NOISE = """

class Cosine(Noise, NamedTuple("_Cosine", [("turns", float)])):
    '''The cosine of a random angle.'''

    __slots__ = ()
    name = "cosine"
    title = "Cosine of an angle"
    proxy = 1.0

    def __new__(cls, turns: float = 1.0) -> Self:
        return super().__new__(cls, number("turns", turns, above=0))

    def draw(self, amount: float, rng: Generator) -> float:
        '''One draw.'''
        return math.sqrt(2.0) * math.cos(2.0 * math.pi * self.turns * rng.random())


FAMILIES"""

LOOK = """
import json, runpy, sys
import apportion as ap
from apportion.policies import POLICIES
from apportion.policies.registry import choose_policy
from apportion.web.laboratory import catalogue

pages = runpy.run_path(sys.argv[1])
world = ap.Instance((1.0, 0.5), b=0.75, noise="cosine")
print(json.dumps({
    "module": ap.__file__,
    "listed": sorted({"Newcomer", "Cosine"} & set(ap.__all__)),
    "registry": "Newcomer" in POLICIES,
    "chosen": repr(choose_policy("newcomer", b=0.75)[0]),
    "laboratory": [each for each in catalogue.describe_policies() if each["name"] == "Newcomer"],
    "noises": [each for each in catalogue.describe_noises() if each["name"] == "cosine"],
    "reference": pages["policies_page"]().partition("## More")[2].partition("## Checks")[0],
    "shares": ap.Allocator(ap.Newcomer(b=0.75), ("x", "y"), seed=1).ask(10).amounts,
    "noise": repr(world.noise),
}, default=dict))
"""


def insert_after(path, line, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(line) == 1, line
    path.write_text(text.replace(line, line + new), encoding="utf-8")


def test_a_policy_and_a_noise_family_are_found_at_every_door(tmp_path):
    copy = tmp_path / "apportion"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
    (copy / "web" / "static").mkdir(exist_ok=True)
    # What a developer writes: one file and two lines for a policy, one class and one name for a noise.
    (copy / "policies" / "newcomer.py").write_text(POLICY, encoding="utf-8")
    registry = copy / "policies" / "registry.py"
    insert_after(
        registry, "if TYPE_CHECKING:\n", "    from apportion.policies.newcomer import Newcomer as Newcomer\n"
    )
    insert_after(registry, "POLICIES = {\n", '    "Newcomer": "newcomer",\n')
    noise = copy / "model" / "noise.py"
    insert_after(noise, '    "Gaussian",', ' "Cosine",')
    noise.write_text(noise.read_text(encoding="utf-8").replace("\n\nFAMILIES", NOISE, 1), encoding="utf-8")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", LOOK, str(REPOSITORY / "docs" / "tools" / "generate.py")]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stderr
    sums = json.loads(found.stdout)

    assert Path(sums["module"]).parent == copy
    assert sums["listed"] == ["Cosine", "Newcomer"]
    assert sums["registry"]
    assert sums["chosen"] == "Newcomer(b=0.75)"
    [offered] = sums["laboratory"]
    assert offered["rule"] == "Is new here."
    assert [(each["name"], each["default"], each["hint"]) for each in offered["parameters"]] == [
        ("zeal", 2.0, "how keen it is"),
        ("b", None, "the b it is given; empty: the true one"),
    ]
    [family] = sums["noises"]
    assert (family["title"], family["parameters"]) == ("Cosine of an angle", {"name": "cosine", "turns": 1.0})
    assert "::: apportion.Newcomer" in sums["reference"]
    assert "| `zeal` | a number above 0 | `2.0` |" in sums["reference"]
    assert sums["shares"] == {"x": 5.0, "y": 5.0}
    assert sums["noise"] == "Cosine(turns=1.0)"
