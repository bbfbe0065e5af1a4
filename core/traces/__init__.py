"""Traces: writing, reading by window, numbers, trees and cost of Sessions."""
