"""Schemas from files: our TOML, other tools' metadata, the contests' files, public tables."""
