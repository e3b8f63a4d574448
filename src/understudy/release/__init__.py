"""Decode, ids, atomic writes, manifest."""

from understudy.release.build import build
from understudy.release.release import FORMATS, Format, Release, check_target

__all__ = ["FORMATS", "Format", "Release", "build", "check_target"]
