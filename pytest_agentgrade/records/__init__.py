"""Everything known about an attempt, journaled on disk phase by phase."""
