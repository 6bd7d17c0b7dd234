"""A Kubernetes cluster as a line of `goodput plan`, and a plan in words. It reads what kubectl prints, and never
writes to the cluster:

    kubectl get nodes,pods,jobs --all-namespaces -o json | python3 -m goodput.kubernetes --advise

docs/kubernetes.md describes it. The modules, in the order in which data flows: `objects` (JSON of the API),
`quantity`, `hardware` (what is a GPU, and of which type), `matching` (which nodes a pod accepts), `annotations`,
`nodes`, `pods`, `gangs`, `cluster` (what is left of every node), `needs`, `snapshot`, `planner`, `advice`.
"""
