"""Numbers to text: terminal, JUnit properties."""
