#!/bin/sh
# A campaign as a job of Docker Swarm, each task of which is one shard:
#
#   SHARDS=8 CAMPAIGN=/shared/nightly.yaml RESULTS=/shared/results deploy/swarm/campaign.sh
#
# All nodes have the image lockbench and see the file and the folder, and the image's user may write there.
# A task that died is started again, and continues where it was.
set -eu
exec docker service create --detach --quiet --no-resolve-image --name "${NAME:-lockbench-campaign}" \
	--mode replicated-job --replicas "$SHARDS" --restart-condition on-failure --restart-max-attempts 3 \
	--env 'LOCKBENCH_TASK_SLOT={{.Task.Slot}}' --env 'LOCKBENCH_TASK_NODE={{.Node.ID}}' --env "LOCKBENCH_SHARDS=$SHARDS" \
	--mount "type=bind,src=$CAMPAIGN,dst=/campaign/campaign.yaml,ro" --mount "type=bind,src=$RESULTS,dst=/results" \
	"${IMAGE:-lockbench}" matrix --file /campaign/campaign.yaml --out /results
