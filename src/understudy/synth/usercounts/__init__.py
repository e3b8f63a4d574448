"""UserCounts: people are counted by cell and by their number of rows in it."""

from understudy.synth.usercounts.mechanism import UserCounts

__all__ = ["UserCounts"]
