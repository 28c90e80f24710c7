"""MaskablePPO of sb3-contrib, as it is: a central controller learns which candidate to name, and plays the test windows.

Needs sb3-contrib and pandas. A network encodes the candidates one by one, each from its features and the cluster's. MaskablePPO
finds the masks by itself, as the environment has action_masks(). --steps is how many decisions it learns from, --windows how many
test windows are played (0: all).
"""

import argparse

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecNormalize

import clustergym

flags = argparse.ArgumentParser(description=__doc__)
for name, default in {"steps": 100_000, "envs": 16, "rollout": 128, "windows": 0, "seed": 1}.items():
    flags.add_argument(f"--{name}", type=int, default=default)
args = flags.parse_args()
torch.set_num_threads(1)
SCENARIO, SETTINGS = "embedded-small-v1", {"cluster.servers": 4}
GAME = {"prior": "sjfskip", "settings": SETTINGS}


class Candidates(BaseFeaturesExtractor):
    """Encodes every candidate by the same network, and puts the codes side by side, the cluster's features behind them."""

    def __init__(self, space, hidden=64, code=4):
        numbers, row = space["candidates"].shape
        cluster = space["cluster"].shape[0]
        super().__init__(space, numbers * code + cluster)
        layers = torch.nn.Linear(row + cluster, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, code)
        self.encode = torch.nn.Sequential(*layers)

    def forward(self, observations):
        each, cluster = observations["candidates"], observations["cluster"]
        rows = torch.cat([each, cluster[:, None].expand(-1, each.shape[1], -1)], -1)
        return torch.cat([self.encode(rows).flatten(1), cluster], -1)


envs = make_vec_env(
    "clustergym/Cluster-v1", args.envs, seed=args.seed, env_kwargs={"scenario": SCENARIO, "window": 8, **GAME}
)
envs = VecNormalize(envs, norm_obs=False, gamma=1.0)  # rewards of about 1; features are within bounds already
model = MaskablePPO(
    "MultiInputPolicy",
    envs,
    n_steps=args.rollout,
    batch_size=args.envs * args.rollout // 4,
    n_epochs=4,
    gamma=1.0,
    gae_lambda=0.98,
    ent_coef=0.003,
    learning_rate=1e-3,
    seed=args.seed,
    device="cpu",
    policy_kwargs={
        "features_extractor_class": Candidates,
        "share_features_extractor": False,
        "net_arch": {"pi": [], "vf": [64]},
    },
)
model.learn(args.steps)
envs.close()


def controller(observation, info):
    """Draws a number by its probability, as in training."""
    return int(model.predict(observation, action_masks=info["action_mask"] == 1)[0])


rng = np.random.default_rng(args.seed)
players = {
    "random": lambda _, info: int(rng.choice(np.flatnonzero(info["action_mask"]))),
    "maskable_ppo": controller,
    "srtf": "srtf",
}
frame = clustergym.evaluate(SCENARIO, players, windows=args.windows, window=8, **GAME)
print(frame.groupby("policy", sort=False)[["mean_jct_s", "relative"]].mean().round(1).to_string())
