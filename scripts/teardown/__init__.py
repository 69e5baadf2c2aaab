"""From an environment to nothing, in three parts that repeat until nothing of ours is found.

inventory   what is there now: ours, suspects, kept, and what could not be asked          (reads AWS)
order       inventory -> the steps that remove it, first things first                      (pure)
executor    does the steps of the first stage, then takes the inventory again              (changes AWS)

Nothing is remembered between runs: a destroy that was killed at any point is repeated with the same command.
"""
