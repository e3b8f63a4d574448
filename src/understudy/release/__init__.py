"""Decode, ids, atomic writes, manifest."""

from understudy.release.build import build
from understudy.release.estimates import Estimate
from understudy.release.files import check_target, new_file
from understudy.release.from_disk import MANIFEST
from understudy.release.release import FORMATS, Format, Release, sql_types
from understudy.release.submission import Submission, manifest_path, write_manifest

__all__ = [
    "FORMATS",
    "MANIFEST",
    "Estimate",
    "Format",
    "Release",
    "Submission",
    "build",
    "check_target",
    "manifest_path",
    "new_file",
    "sql_types",
    "write_manifest",
]
