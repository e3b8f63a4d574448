"""UserCounts: people are counted, cell by cell and by how often they were there."""

from understudy.synth.usercounts.mechanism import UserCounts

__all__ = ["UserCounts"]
