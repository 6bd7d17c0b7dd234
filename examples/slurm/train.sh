#!/usr/bin/env bash
# The batch script of an elastic job: whatever it is called with runs once on every node that the job was given.
# Slurm's own defaults for srun are those of the submission, so the number of nodes is said again.
#SBATCH --requeue
#SBATCH --output=slurm-%j.out
#SBATCH --open-mode=append
trap : TERM # srun passes it on and waits for the training to end
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=1 "$@" &&
    exit
status=$?
# srun gives 233 where a node did not answer to be started on, as one that has just died. Slurm would take that for a
# failure of the job, which is to go on from its checkpoint.
if [[ $status -eq 233 ]]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
