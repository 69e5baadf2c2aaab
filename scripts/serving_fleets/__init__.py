"""Fleets after their stacks are made: the compile task, the first start, and how they are."""
