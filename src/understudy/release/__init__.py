"""Decode, ids, atomic writes, manifest."""

from understudy.release.build import GIVEN_AWAY, build
from understudy.release.combining import Combined, combine
from understudy.release.estimates import Estimate
from understudy.release.files import check_target, new_file
from understudy.release.from_disk import MANIFEST
from understudy.release.histograms import histogram_columns
from understudy.release.release import FORMATS, Format, Release, sql_types

__all__ = [
    "FORMATS",
    "GIVEN_AWAY",
    "MANIFEST",
    "Combined",
    "Estimate",
    "Format",
    "Release",
    "build",
    "check_target",
    "combine",
    "histogram_columns",
    "new_file",
    "sql_types",
]
