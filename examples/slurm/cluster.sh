#!/usr/bin/env bash
# A whole heterogeneous Slurm cluster on this machine: one slurmctld, and a slurmd for every node, each with its own
# port on loopback and plain files as GPUs. For trying things out and for tests; nothing outside FOLDER is touched.
#
#   cluster.sh start FOLDER [PORT] [NAME:COUNT:TYPE:GPUS ...]   e.g. cluster.sh start ./toy 17000 small:3:t4:4 big:2:a100:8
#   cluster.sh stop FOLDER
#   cluster.sh crash FOLDER NODE     kills the node's slurmd and everything that runs under it; or slurmctld
#   cluster.sh boot FOLDER NODE      starts its slurmd again; or slurmctld
#
# With GOODPUT_SLURM_PLUGIN=.../sched_goodput.so in the environment, slurmctld schedules with that plugin;
# GOODPUT_SLURM_PARAMETERS is added to its SchedulerParameters then (goodput_interval=5,goodput_log=FILE,...).
#
# Afterwards `source FOLDER/environment` makes squeue, sbatch and the others talk to this cluster.
# PORT is slurmctld's; the nodes take the ports after it. Packages (Debian 12): slurmctld slurmd slurm-client munge.
set -euo pipefail

fail() { echo "cluster.sh: $*" >&2; exit 1; }
[[ $# -ge 2 ]] || fail "usage: cluster.sh start|stop|crash|boot FOLDER ..., see its first lines"
action=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$folder/slurm.conf

# Prints the processes of this cluster whose environment contains a line.
processes_with() {
    local files
    mapfile -t files < <(grep -lszxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ)
    grep -lszxF "$1" "${files[@]}" /dev/null | sed -n 's|^/proc/\([0-9]*\)/environ$|\1|p' | grep -vx $$ || true
}

# Prints the processes on a node: its slurmd, the slurmstepds (which write to its log), and those that these started.
processes_on() {
    { find /proc/[0-9]*/fd -lname "$folder/log/slurmd-$1.log" 2>/dev/null || true; } | sed 's|^/proc/\([0-9]*\)/.*|\1|'
    processes_with "SLURMD_NODENAME=$1"
}

job_of() { # the job that a process runs under; nothing for others
    tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | sed -n 's/^SLURM_JOB_ID=//p'
}

start_node() {
    slurmd -N "$1" -f "$SLURM_CONF"
}

case $action in
start)
    port=${1:-17000}
    [[ $# -gt 0 ]] && shift
    [[ $# -gt 0 ]] || set -- small:3:t4:4 big:2:a100:8
    me=$(id -un)
    mkdir -p "$folder"/{state,spool,log,run,gpus}
    chmod 700 "$folder/run"
    chmod 711 "$folder"

    # A munged of our own: a key, a socket, no system service.
    if [[ ! -e $folder/run/munge.key ]]; then
        head -c 128 /dev/urandom >"$folder/run/munge.key"
        chmod 600 "$folder/run/munge.key"
    fi
    munged --force --key-file="$folder/run/munge.key" --socket="$folder/run/munge.socket" --num-threads=2 \
        --pid-file="$folder/run/munged.pid" --log-file="$folder/log/munged.log" --seed-file="$folder/run/munge.seed"

    cat >"$folder/slurm.conf" <<EOF
ClusterName=toy
SlurmctldHost=localhost
SlurmctldPort=$port
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket
CredType=cred/munge
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
# Minutes on a real cluster. Here they are short, so that tests do not wait long.
SlurmdTimeout=60
KillWait=5
MinJobAge=3600
InactiveLimit=0
SchedulerParameters=batch_sched_delay=0,sched_min_interval=200000,bf_interval=2,bf_continue,bf_window=60,bf_resolution=1
JobCompType=jobcomp/filetxt
JobCompLoc=$folder/log/completions
EOF
    : >"$folder/gres.conf"
    if [[ -n ${GOODPUT_SLURM_PLUGIN:-} ]]; then
        plugins=("$(cd "$(dirname "$GOODPUT_SLURM_PLUGIN")" && pwd)" /usr/lib/*/slurm-wlm)
        (IFS=:; echo "PluginDir=${plugins[*]}"; echo SchedulerType=sched/goodput) >>"$folder/slurm.conf"
        sed -i "s|^SchedulerParameters=.*|&${GOODPUT_SLURM_PARAMETERS:+,$GOODPUT_SLURM_PARAMETERS}|" "$folder/slurm.conf"
    fi
    nodes=0
    for kind in "$@"; do
        IFS=: read -r name count type gpus <<<"$kind"
        [[ $count =~ ^[0-9]+$ && $gpus =~ ^[0-9]+$ ]] || fail "'$kind' is not NAME:COUNT:TYPE:GPUS"
        for ((i = 0; i < count; ++i)); do
            ((++nodes))
            echo "NodeName=$name$i NodeHostname=localhost Port=$((port + nodes)) CPUs=$((gpus * 2)) RealMemory=1000 Gres=gpu:$type:$gpus State=UNKNOWN" >>"$folder/slurm.conf"
            for ((g = 0; g < gpus; ++g)); do echo "$type" >"$folder/gpus/$name$i-$g"; done
            echo "NodeName=$name$i Name=gpu Type=$type File=$folder/gpus/$name$i-[0-$((gpus - 1))]" >>"$folder/gres.conf"
            mkdir -p "$folder/spool/$name$i"
        done
    done
    echo "PartitionName=gpus Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$folder/slurm.conf"
    printf 'export %s\n' "SLURM_CONF=$folder/slurm.conf" "GOODPUT_TOY_GPUS=$folder/gpus" >"$folder/environment"

    slurmctld -i -f "$SLURM_CONF"
    mapfile -t names < <(sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$SLURM_CONF")
    for name in "${names[@]}"; do start_node "$name"; done
    for ((i = 0; i < 100; ++i)); do
        up=$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)
        [[ $up -eq $nodes ]] && exit 0
        sleep 0.2
    done
    sinfo -N -l >&2 || true
    fail "only $up of $nodes nodes are idle after 20 s; see $folder/log"
    ;;
stop)
    [[ -e $SLURM_CONF ]] || exit 0
    for signal in TERM KILL; do
        for file in "$folder"/run/slurm*.pid; do
            kill -$signal "$(cat "$file" 2>/dev/null)" 2>/dev/null || true
        done
        for process in $(processes_with "SLURM_CONF=$SLURM_CONF"); do
            # The calling shell may have sourced the environment, too.
            if [[ $(cat "/proc/$process/comm" 2>/dev/null) =~ ^slurm || -n $(job_of "$process") ]]; then
                kill -$signal "$process" 2>/dev/null || true
            fi
        done
        sleep 0.5
    done
    kill "$(cat "$folder/run/munged.pid" 2>/dev/null)" 2>/dev/null || true
    ;;
crash)
    if [[ $1 == slurmctld ]]; then
        kill -KILL "$(cat "$folder/run/slurmctld.pid")"
        exit
    fi
    # The steps of a job outlive their slurmd, but a machine that loses power stops all processes at once. So stop all
    # before killing the first. Otherwise an srun that dies leaves a process that asks Slurm to kill the step. Slurm
    # cannot reach the node and tries again a minute later. By then the job may have been started there again, and its
    # new step, which has the same number, would be killed.
    stopped=none
    until processes=$(processes_on "$1" | sort -u) && [[ $processes == "$stopped" ]]; do
        for process in $processes; do kill -STOP "$process" 2>/dev/null || true; done
        stopped=$processes
    done
    # Kill children before their parents: the death of a parent would wake them up (as orphans get SIGHUP and SIGCONT).
    while [[ -n $processes ]]; do
        parents=$(ps -o ppid= -p "$(paste -sd, <<<"$processes")" | tr -d ' ') || true
        for process in $(grep -vxF "$parents" <<<"$processes"); do kill -KILL "$process" 2>/dev/null || true; done
        processes=$(grep -xF "$parents" <<<"$processes") || true
    done
    ;;
boot)
    if [[ $1 == slurmctld ]]; then slurmctld -f "$SLURM_CONF"; else start_node "$1"; fi
    ;;
*) fail "there is no '$action'" ;;
esac
