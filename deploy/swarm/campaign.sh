#!/bin/sh
# This script starts a campaign as a job of Docker Swarm. Each task runs one shard:
#
#   SHARDS=8 CAMPAIGN=/shared/nightly.yaml RESULTS=/shared/results deploy/swarm/campaign.sh
#
# All nodes need the image lockbench and the file, and the user of the image must be able to write to the folder.
# Swarm starts a task that died again, and its shard continues where it stopped.
set -eu
exec docker service create --detach --quiet --no-resolve-image --name "${NAME:-lockbench-campaign}" \
	--mode replicated-job --replicas "$SHARDS" --restart-condition on-failure --restart-max-attempts 3 \
	--env 'LOCKBENCH_TASK_SLOT={{.Task.Slot}}' --env 'LOCKBENCH_TASK_NODE={{.Node.ID}}' --env "LOCKBENCH_SHARDS=$SHARDS" \
	--mount "type=bind,src=$CAMPAIGN,dst=/campaign/campaign.yaml,ro" --mount "type=bind,src=$RESULTS,dst=/results" \
	"${IMAGE:-lockbench}" matrix --file /campaign/campaign.yaml --out /results
