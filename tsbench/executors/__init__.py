"""Where runs are executed: on this machine, on a Ray cluster, or through Slurm."""
