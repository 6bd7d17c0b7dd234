#!/usr/bin/env bash
# The batch script of an elastic job: runs its arguments as a command, once on every node that the job was given. By
# default srun uses the number of nodes of the submission, so the script states the present number.
#SBATCH --requeue
#SBATCH --output=slurm-%j.out
#SBATCH --open-mode=append
trap : TERM # srun passes it on and waits for the training to end
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=1 "$@" &&
    exit
status=$?
# srun returns 233 if a node, such as one that has just died, did not answer when the step was started. Slurm would
# treat that as a failure of the job, but the job should continue from its checkpoint.
if [[ $status -eq 233 ]]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
