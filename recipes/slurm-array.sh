#!/bin/bash
# A sweep as a Slurm array job: each task does its part of the runs, all into one store.
#
#   sbatch recipes/slurm-array.sh sweep.toml /shared/store
#
# Submit it again to go on, or to add replications: only missing runs are done. The folder of the
# store must be the same on all nodes and must support POSIX locks (NFS 4, Lustre with -o flock).
#SBATCH --job-name=clearpipe
#SBATCH --array=0-15
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=01:00:00
#SBATCH --requeue
set -u
file=${1:?the file of the sweep}
store=${2:?the folder of the store}

done_before=$(wc -c <"$store/journal.jsonl" 2>/dev/null || echo 0)

# Ten minutes before Slurm would kill it, the task stops by itself with exit code 75.
clearpipe sweep run "$file" --store "$store" --quiet \
	--shard "$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN))/$SLURM_ARRAY_TASK_COUNT" \
	--jobs "$SLURM_CPUS_PER_TASK" --max-time 50min
status=$?
if [ "$status" -eq 75 ]; then
	done_now=$(wc -c <"$store/journal.jsonl" 2>/dev/null || echo 0)
	if [ "$done_now" -eq "$done_before" ]; then
		echo "no run ended in this time; give the task more, and submit it again" >&2
		exit 75
	fi
	scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
	exit 0
fi
exit "$status"
