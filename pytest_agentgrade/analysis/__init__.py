"""Pure functions from records to numbers."""
