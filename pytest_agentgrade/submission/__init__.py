"""What an agent left behind, as data: never as files on this machine, never through anybody's git."""
