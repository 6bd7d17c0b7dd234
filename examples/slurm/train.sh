#!/usr/bin/env bash
# The batch script of an elastic job: whatever it is called with runs once on every node that the job was given.
# Slurm's own defaults for srun are those of the submission, so the number of nodes is said again.
#SBATCH --requeue
#SBATCH --output=slurm-%j.out
#SBATCH --open-mode=append
exec srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=1 "$@"
