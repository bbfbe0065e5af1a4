"""Tests of the room of traces."""
