"""The normal distribution's quantile in float64: Wichura's algorithm AS 241, for arrays.

Three ratios of polynomials (Applied Statistics 37, 1988, 477-484; PPND16), each within 10⁻¹⁶ of
the truth on its stretch, in exact arithmetic.  Where a ratio is used its variable is at least 0,
and all coefficients are above 0: nothing cancels, so rounding adds a few units in the last place.
½ − p is off by 2⁻⁵⁵ at most, which moves z by at most 7.1 times as much in the centre.  Below its
stretch a variable is taken to be 0, and the ratio is not used.  Tied by
``tests/noise/test_quantile.py``, against arbitrary precision on all three stretches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# fmt: off
CENTRE, SHOULDER, TAIL = (
    ((2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
      4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
      1.3314166789178437745e2, 3.3871328727963666080e0),
     (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
      2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
      4.2313330701600911252e1, 1.0)),
    ((7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
      1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
      4.63033784615654529590e0, 1.42343711074968357734e0),
     (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
      1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
      2.05319162663775882187e0, 1.0)),
    ((2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
      2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
      5.46378491116411436990e0, 6.65790464350110377720e0),
     (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
      7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
      5.99832206555887937690e-1, 1.0)),
)
# fmt: on


def upper_quantile(tail: Floats) -> Floats:
    """Return the z beyond which a standard normal variable lies with each probability up to ½.

    >>> upper_quantile(np.array([0.5, 0.025, 2.0**-64])).round(12).tolist()
    [0.0, 1.95996398454, 9.080155124874]
    """
    middle = 0.5 - tail
    z: Floats = middle * _ratio(CENTRE, np.maximum(0.180625 - middle * middle, 0.0))
    outer = np.flatnonzero(middle > 0.425)
    root = np.sqrt(-np.log(tail[outer]))
    far = _ratio(TAIL, np.maximum(root - 5.0, 0.0))
    z[outer] = np.where(root <= 5.0, _ratio(SHOULDER, root - 1.6), far)
    return z


def _ratio(ratio: tuple[tuple[float, ...], tuple[float, ...]], at: Floats) -> Floats:
    """Divide two polynomials: coefficients of numerator and denominator, highest power first."""
    return np.polyval(ratio[0], at) / np.polyval(ratio[1], at)
