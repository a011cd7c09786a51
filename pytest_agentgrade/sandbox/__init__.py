"""Containers, volumes and images on the Docker engine, and cleaning up after any kind of death."""
