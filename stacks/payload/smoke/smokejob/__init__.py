"""The shipped smoke job: data-parallel training of a small next-byte language model. `train.py` is its entry."""
