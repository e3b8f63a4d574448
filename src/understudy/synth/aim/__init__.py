"""AIM: marginals one by one, each the one that the model so far gets most wrong."""

from understudy.synth.aim.mechanism import AIM

__all__ = ["AIM"]
