"""What runs jobs: one protocol for launch, status, logs and cancel, and its implementations for AWS Batch and Slurm.

scheduler          the protocol: runs as a scheduler knows them
batch_*            AWS Batch
slurm_*            Slurm: texts sent to the login node, answers read, states in words
login_node         how those texts get there: by SSM, or by this shell
opening            which of them a cluster has
"""
