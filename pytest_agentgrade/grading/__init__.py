"""The pytest-independent judge: a driver in a container, questions from the host, strict answers."""
