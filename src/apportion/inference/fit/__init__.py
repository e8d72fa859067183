"""c, b and σ from data: `fit_noise` on a history, or the paper's burn-in, with intervals, sentences and pictures.

history ─► likelihood ─► surface, intervals ─► estimate ─► assumptions ─► result (noise makes it) ─► words, pictures
"""

from apportion.inference.fit.assumptions import Assumption
from apportion.inference.fit.burn_in import BurnInFit, burn_in_design, fit_burn_in
from apportion.inference.fit.noise import fit_noise
from apportion.inference.fit.result import NoiseFit

__all__ = ["Assumption", "BurnInFit", "NoiseFit", "burn_in_design", "fit_burn_in", "fit_noise"]
