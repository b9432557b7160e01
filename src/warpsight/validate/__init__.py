"""Compares warpsight with a hardware reference set: results and, in timing mode, cycles and counters."""
