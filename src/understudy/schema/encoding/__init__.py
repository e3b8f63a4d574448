"""How a cell is read: as Python values, as SQL, by the calendar."""
