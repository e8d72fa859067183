"""The colours of arms: seen on the page's card, told apart by everybody, and the same at server and browser."""

import itertools
import re

import numpy as np
import pytest

from apportion.web.pages.shared import COLOURS, PATTERNS, STATIC, arm_classes

STYLE = (STATIC / "style.css").read_text()
CHART = (STATIC / "chart.js").read_text()
LOOKS = ("light", "dark")

# WCAG asks for 3:1 of what must be seen to understand a picture. Two colours that differ by 2 or 3 (CIEDE2000) can be
# told apart side by side; lines and swatches far apart on a page need several times as much.
LEAST_CONTRAST = 3.0
LEAST_APART = {"normal": 20.0, "protanopia": 9.0, "deuteranopia": 9.0, "tritanopia": 9.0}

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def colour(name, look):
    """A colour of the style sheet as linear RGB."""
    both = re.search(rf"--{name}: light-dark\((#\w{{6}}), (#\w{{6}})\);", STYLE)
    text = both[1 + LOOKS.index(look)]
    rgb = np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, two):
    low, high = sorted(float(TO_XYZ[1] @ each) for each in (one, two))
    return (high + 0.05) / (low + 0.05)


def lab(linear):
    x, y, z = (np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in TO_XYZ @ linear / WHITE)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, two):
    """CIEDE2000 (Sharma, Wu and Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, two
    seventh = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(seventh / (seventh + 25.0**7))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    middle, c = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2, (c1 + c2) / 2
    cos = [np.cos(np.radians(k * middle - shift)) for k, shift in ((1, 30), (2, 0), (3, -6), (4, 63))]
    t = 1 - 0.17 * cos[0] + 0.24 * cos[1] + 0.32 * cos[2] - 0.20 * cos[3]
    light = ((l1 + l2) / 2 - 50) ** 2
    parts = (
        (l2 - l1) / (1 + 0.015 * light / np.sqrt(20 + light)),
        (c2 - c1) / (1 + 0.045 * c),
        hue / (1 + 0.015 * c * t),
    )
    twist = -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((middle - 275) / 25) ** 2))))
    return float(np.sqrt(sum(part**2 for part in parts) + twist * parts[1] * parts[2]))


def test_the_distance_is_that_of_the_published_examples():
    pairs = {
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485)): 2.0425,
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0)): 27.1492,
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619)): 2.0373,
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)): 1.2644,
    }
    for (one, two), published in pairs.items():
        assert apart(one, two) == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize("look", LOOKS)
def test_twelve_colours_are_seen_and_told_apart_by_everybody(look):
    arms = [colour(f"arm-{index}", look) for index in range(COLOURS)]
    assert len(arms) == 12
    dull = {index: contrast(arm, colour("card", look)) for index, arm in enumerate(arms)}
    assert min(dull.values()) >= LEAST_CONTRAST, dull
    for vision, matrix in VISION.items():
        seen = [lab(np.clip(matrix @ arm, 0, 1)) for arm in arms]
        distances = {pair: apart(seen[pair[0]], seen[pair[1]]) for pair in itertools.combinations(range(COLOURS), 2)}
        nearest = min(distances, key=distances.get)
        assert distances[nearest] >= LEAST_APART[vision], (look, vision, nearest, distances[nearest])


def test_more_arms_differ_by_pattern():
    classes = [arm_classes(index) for index in range(COLOURS * PATTERNS)]
    assert len(set(classes)) == 48
    for name in {name for each in classes for name in each.split()}:
        assert f".{name}" in STYLE, f"{name} has no style"
    assert f"export const COLOURS = {COLOURS};" in CHART  # the browser counts as the server does
    for patterns in re.findall(r"^const (?:DASHES|HATCHES) = \[(.*)\];", CHART, re.M):
        assert len(patterns.split(", ")) == PATTERNS
