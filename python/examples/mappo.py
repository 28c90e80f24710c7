"""MAPPO with TorchRL, as it is: every server is an agent and decides for itself, and a central critic sees the whole cluster.

Needs torchrl and pandas. A network that all agents share scores every candidate from its features, the agent's part in it, the
agent's server and the cluster. --steps is how many rounds they learn from, --windows how many test windows they play (0: all).
"""

import argparse

import torch
from pettingzoo.utils import BaseParallelWrapper
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper, SerialEnv
from torchrl.envs.utils import ExplorationType
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import clustergym

flags = argparse.ArgumentParser(description=__doc__)
for name, default in {"steps": 20_480, "envs": 8, "rollout": 256, "windows": 0, "seed": 1}.items():
    flags.add_argument(f"--{name}", type=int, default=default)
args = flags.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)
SCENARIO, SETTINGS = "embedded-small-v1", {"cluster.servers": 4}
GAME = {"prior": "sjfskip", "settings": SETTINGS, "window": 8, "agree": "lead"}


class Plain(BaseParallelWrapper):
    """Leaves out infos, because PettingZooWrapper refuses masks in both infos and observations. Scales rewards."""

    def reset(self, seed=None, options=None):
        observations, infos = self.env.reset(seed, options)
        return observations, {agent: {} for agent in infos}

    def step(self, actions):
        observations, rewards, *ends, infos = self.env.step(actions)
        return observations, {a: r / 10 for a, r in rewards.items()}, *ends, {a: {} for a in infos}


def make(**options):
    return PettingZooWrapper(Plain(clustergym.parallel_env(SCENARIO, **GAME, **options)), return_state=True)


class Scores(nn.Sequential):
    """Scores every candidate by the same layers; number 0, to pass, is a row of zeros."""

    def forward(self, candidates, weights, server, cluster):
        each = torch.cat([server, cluster], -1).unsqueeze(-2).expand(*weights.shape, -1)
        return super().forward(torch.cat([candidates, weights.unsqueeze(-1), each], -1)).squeeze(-1)


envs = SerialEnv(args.envs, make)
envs.set_seed(args.seed)
seen = [("server", "observation", "observation", key) for key in ("candidates", "weights", "server", "cluster")]
candidate, _, server, cluster = (envs.observation_spec[key].shape[-1] for key in seen)
layers = nn.Linear(candidate + 1 + server + cluster, 64), nn.Tanh(), nn.Linear(64, 1)
scores = TensorDictModule(Scores(*layers), seen, [("server", "logits")])
draw = {"distribution_class": MaskedCategorical, "default_interaction_type": ExplorationType.RANDOM, "return_log_prob": True}
given = {"logits": ("server", "logits"), "mask": ("server", "action_mask")}
actor = ProbabilisticActor(scores, in_keys=given, out_keys=[("server", "action")], **draw)
critic = ValueOperator(nn.Sequential(nn.LazyLinear(64), nn.Tanh(), nn.Linear(64, 1)), in_keys=["state"])
critic(envs.reset())  # tells the first layer its width
loss = ClipPPOLoss(actor, critic, entropy_coeff=0.003, critic_coeff=1.0, normalize_advantage=True)
keys = {"action": "action", "advantage": "advantage", "sample_log_prob": "action_log_prob"}
loss.set_keys(**{key: ("server", name) for key, name in keys.items()})
advantage = GAE(gamma=1.0, lmbda=0.98, value_network=critic)  # rounds differ in length, so no discount by round
adam = torch.optim.Adam(loss.parameters(), lr=1e-3)

baseline = clustergym.evaluate(SCENARIO, ["sjfskip"], windows=args.windows, settings=SETTINGS)


@torch.no_grad()
def play(name):
    """Plays the test windows. Actions are drawn by their probabilities, as in training."""
    env, jct = make(split="test", case_seed=1), []
    for window in range(len(baseline)):
        env.rollout(1_000_000, actor, auto_reset=False, tensordict=env.reset(seed=window))
        jct.append(env.metrics()["mean_jct_s"])
    relative = 100 * (jct / baseline.mean_jct_s - 1)
    print(f"{name:9} mean JCT {sum(jct) / len(jct):.1f} s, {relative.mean():+.1f} % against sjfskip", flush=True)


play("untrained")
frames = args.envs * args.rollout
for update, data in enumerate(Collector(envs, actor, frames_per_batch=frames, total_frames=args.steps), 1):
    data["next", "reward"] = data["next", "server", "reward"].mean(-2)  # the team's
    advantage(data)
    data["server", "advantage"] = data["advantage"].unsqueeze(-2).expand_as(data["next", "server", "reward"])
    for part in (part for _ in range(4) for part in torch.randperm(frames).chunk(4)):
        adam.zero_grad()
        losses = loss(data.reshape(-1)[part])
        (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
        nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
        adam.step()
    print(f"{update * frames} rounds, reward {data['next', 'reward'].mean():.4f} a round", flush=True)
play("mappo")
