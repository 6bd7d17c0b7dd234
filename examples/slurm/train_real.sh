#!/usr/bin/env bash
# A real training as the command of train.sh, on a cluster of cluster.sh, whose nodes are all on this machine. The first
# task runs as many processes as the job has GPUs, and the others wait for it.
#
#   sbatch --hold --gres=gpu:1 --comment="goodput gpus=1-4 batch=8-512 local=t4:1-512" \
#       train.sh train_real.sh GOODPUT_TRAINING --network cnn --most-steps 2000
#
# Leaves train-ID.checkpoint, train-ID.csv (its log), train-ID.finished, and lines in `events`, like goodput-train.
set -uo pipefail
id=$SLURM_JOB_ID name=train-$SLURM_JOB_ID
event() {
    echo "{\"event\": \"$1\", \"job\": \"$id\", \"time_s\": $(date +%s.%N), \"rank\": $SLURM_PROCID}" >>events
}
[[ -e $name.finished ]] && exit 0
if [[ $SLURM_PROCID -ne 0 ]]; then
    until [[ -e $name.finished ]]; do sleep 0.2; done
    exit 0
fi
event start
trap : TERM # the training gets it as well, saves its checkpoint and ends
export OMP_NUM_THREADS=1
program=$1
shift
mpirun --mca plm ^slurm --mca ras ^slurm --oversubscribe --allow-run-as-root --quiet \
    -n $((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE)) "$program" --gpu-type "$(<"$GOODPUT_TOY_GPUS/$SLURMD_NODENAME-0")" \
    --nodes "$SLURM_JOB_NUM_NODES" --checkpoint "$name.checkpoint" --log "$name.csv" --reports "goodput-$id.reports" \
    --plan "goodput-$id.plan" "$@"
status=$?
event stop
[[ $status -eq 0 ]] || exit $status
touch "$name.finished"
event finish
