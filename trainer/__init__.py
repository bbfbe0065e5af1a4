"""Learning a curator. The only room that may import torch."""
