"""Lives: synthetic people, with what is theirs and what they do next."""

from understudy.synth.lives.mechanism import Lives

__all__ = ["Lives"]
