"""The private table: composes every bounding and counting query, implements the door."""

from understudy.vault.door import PrivateDoor
from understudy.vault.table import PrivateTable

__all__ = ["PrivateDoor", "PrivateTable"]
