"""b and σ from data: `fit_noise` on a history, or the paper's burn-in, with intervals, sentences and a picture.

history ─► likelihood ─► noise (the result), burn_in ─► words, picture
"""

from apportion.inference.fit.burn_in import BurnInFit, burn_in_design, fit_burn_in
from apportion.inference.fit.noise import NoiseFit, fit_noise

__all__ = ["BurnInFit", "NoiseFit", "burn_in_design", "fit_burn_in", "fit_noise"]
