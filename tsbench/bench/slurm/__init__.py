"""Runs as jobs of a Slurm cluster: what is submitted, how it is watched, what a job does.

Nothing of it needs accounting: state is read from ``squeue`` and from files in the results folder.
"""
