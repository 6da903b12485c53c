"""A Ray cluster of two nodes on this machine, in processes of its own: a line on stdin kills the second node, its end ends all."""

import os
import shutil
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster

MEMORY = 80 * 2**20

cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": MEMORY, "include_dashboard": False}
)
second = cluster.add_node(num_cpus=2, object_store_memory=MEMORY)
session = second.get_session_dir_path()
try:
    print(f"cluster {cluster.address} {session} {second.all_processes['raylet'][0].process.pid}", flush=True)
    if sys.stdin.readline().strip() == "kill":
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
        sys.stdin.readline()
finally:
    cluster.shutdown()
    shutil.rmtree(session, ignore_errors=True)
