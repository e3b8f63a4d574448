"""Discovery: a schema for columns of text, from noisy answers alone."""

from understudy.synth.discovery.program import Discovered, Discovery, Finding

__all__ = ["Discovered", "Discovery", "Finding"]
