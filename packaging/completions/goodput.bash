# Completion of goodput for bash. Written by packaging/describe_program.py.
_goodput() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "allot fit plan share parallel replay --help --version" -- "$word"))
        return
    fi
    case "${COMP_WORDS[1]}" in
        allot)
            case "$before" in
                --proof) COMPREPLY=($(compgen -f -- "$word")); return ;;
                *) words="-h --help --warm --cold --relax --explain --proof --strict" ;;
            esac
            ;;
        fit)
            case "$before" in
                *) words="-h --help --strict" ;;
            esac
            ;;
        plan)
            case "$before" in
                --policy) words="sia goodput goodput-declared pollux optimus tiresias las fifo srtf" ;;
                --policy-option) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --models) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --memory) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --proof) COMPREPLY=($(compgen -f -- "$word")); return ;;
                *) words="-h --help --policy --policy-option --models --explain --advise --memory --proof --strict" ;;
            esac
            ;;
        share)
            case "$before" in
                *) words="-h --help --strict" ;;
            esac
            ;;
        parallel)
            case "$before" in
                --profiles) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --time-model) words="published refined" ;;
                --report) COMPREPLY=($(compgen -f -- "$word")); return ;;
                *) words="-h --help --profiles --time-model --report --strict" ;;
            esac
            ;;
        replay)
            case "$before" in
                --world) words="sia gavel synergy shockwave elasticflow tasks" ;;
                --workload) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --profiles) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --cluster) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --load) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --trace-seed) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --events) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --rates) words="given none" ;;
                --policy) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --policy-option) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --models) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --sizes) words="elastic fixed" ;;
                --moves) words="free restart" ;;
                --interval) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --seed) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --report) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --csv) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --latex) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --charts) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --node-mtbf-h) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --node-off-s) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --interruptions-seed) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --checkpoint) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --checkpoints) words="free fixed chosen" ;;
                --availability) words="values ignored" ;;
                --offers) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --rent) words="ours pollux fixed" ;;
                --hour-worth) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --rent-start-s) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --host) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --cores) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --memory-gib) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --placement) COMPREPLY=($(compgen -f -- "$word")); return ;;
                --table) COMPREPLY=($(compgen -f -- "$word")); return ;;
                *) words="-h --help --world --workload --profiles --cluster --load --trace-seed --events --rates --policy --policy-option --models --sizes --moves --interval --seed --json --jobs --report --csv --latex --charts --node-mtbf-h --node-off-s --interruptions-seed --checkpoint --checkpoints --availability --offers --rent --hour-worth --rent-start-s --host --cores --memory-gib --placement --table" ;;
            esac
            ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _goodput goodput
