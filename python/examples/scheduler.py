"""A scheduler in Python, evaluated beside those of the program: of the jobs that could start, the smallest one now.

An observation's feature columns have names: clustergym.ClusterEnv.features lists them.
"""

import argparse

import numpy as np

import clustergym

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--scenario", default="embedded-small-v1")
flags.add_argument("--windows", type=int, default=0, help="how many windows to play, 0 for all")
args = flags.parse_args()

# A first environment tells which columns the features are in.
env = clustergym.ClusterEnv(args.scenario, prior="fifo")
columns = {feature["name"]: i for i, feature in enumerate(env.features["candidate"])}
env.close()
RUNS, GPU_TIME = columns["runs"], columns["gpu_time"]


def smallest(observation, info):
    """Of the candidates that run a job, names the one whose job needs the least GPU-time; the prior's own if there is none."""
    candidates = observation["candidates"]
    starts = np.flatnonzero((info["action_mask"] == 1) & (candidates[:, RUNS] > 0))
    return int(starts[candidates[starts, GPU_TIME].argmin()]) if len(starts) else info["prior"]


frame = clustergym.evaluate(
    args.scenario,
    {"fifo": "fifo", "srtf": "srtf", "smallest": smallest},
    baseline="fifo",
    windows=args.windows,
    prior="fifo",
)
print(frame.groupby("policy", sort=False)[["mean_jct_s", "mean_queueing_s", "relative"]].mean().round(1).to_string())
