"""The version of Bylaw."""

__version__ = "0.1.0"
