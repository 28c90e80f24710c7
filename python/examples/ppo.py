"""PPO in NumPy: a central controller learns which candidate to name, and plays the test windows beside its prior.

A network scores every candidate from its features and the cluster's; another one estimates the value from the cluster's features.
Steps differ in length, so rewards are discounted by the simulated time between them. --steps is how many steps each environment
plays between two updates, --windows how many test windows are played (0: all).
"""

import argparse

import gymnasium
import numpy as np

import clustergym

flags = argparse.ArgumentParser(description=__doc__)
for name, default in {"updates": 250, "envs": 16, "steps": 128, "windows": 0, "seed": 1}.items():
    flags.add_argument(f"--{name}", type=int, default=default)
args = flags.parse_args()
GAME = {"scenario": "embedded-small-v1", "prior": "sjfskip", "settings": {"cluster.servers": 4}, "window": 8}
HORIZON, LAMBDA, CLIP, ENTROPY, RATE, HIDDEN = 12 * 3600.0, 0.98, 0.2, 0.003, 1e-3, 64
rng = np.random.default_rng(args.seed)
envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=args.envs, autoreset_mode="SameStep", **GAME)
space = envs.single_observation_space
cluster, each = space["cluster"].shape[0], space["candidates"].shape[1] + space["cluster"].shape[0]
sizes = {"a": (each, HIDDEN), "b": (HIDDEN,), "c": (HIDDEN,), "d": (cluster, HIDDEN), "e": (HIDDEN,), "f": (HIDDEN,)}
net = {k: rng.normal(size=s) / np.sqrt(s[0]) * (k in "ad") for k, s in sizes.items()}
first, second = ({k: np.zeros_like(w) for k, w in net.items()} for _ in range(2))  # Adam's moments


def inputs(o):
    """Returns the rows of candidates, each with the cluster's features behind its own, and the cluster's features."""
    spread = np.broadcast_to(o["cluster"][..., None, :], (*o["candidates"].shape[:-1], cluster))
    return np.concatenate([o["candidates"], spread], -1), o["cluster"].copy()


def forward(x, g, mask):
    """Returns the probability of each number, the value, and the hidden layers."""
    h, v = np.tanh(x @ net["a"] + net["b"]), np.tanh(g @ net["d"] + net["e"])
    logits = np.where(mask, h @ net["c"], -np.inf)
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True), v @ net["f"], h, v


def learn(x, g, mask, action, old, advantage, target, t):
    """Takes one step of Adam on a batch."""
    p, value, h, v = forward(x, g, mask)
    n = len(action)
    ratio = p[np.arange(n), action] / old
    open_ = np.where(advantage > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)  # elsewhere the clipped objective is flat
    log = np.log(np.where(mask, p, 1))
    slope = p * (log - (p * log).sum(-1, keepdims=True)) * ENTROPY  # of minus the entropy, by the logits
    slope -= (np.eye(p.shape[1])[action] - p) * (open_ * ratio * advantage)[:, None]
    back, error = slope[..., None] * net["c"] * (1 - h**2), value - target
    down = error[:, None] * net["f"] * (1 - v**2)
    rows, hidden = x.reshape(-1, each), h.reshape(-1, HIDDEN)
    grads = {"a": rows.T @ back.reshape(-1, HIDDEN), "b": back.sum((0, 1)), "c": hidden.T @ slope.ravel()}
    grads |= {"d": g.T @ down, "e": down.sum(0), "f": v.T @ error}
    for k, grad in grads.items():
        first[k] += 0.1 * (grad / n - first[k])
        second[k] += 0.001 * ((grad / n) ** 2 - second[k])
        net[k] -= RATE * first[k] / (1 - 0.9**t) / (np.sqrt(second[k] / (1 - 0.999**t)) + 1e-8)


def controller(observation, info):
    """Draws a number by its probability, as in training."""
    p = forward(*inputs(observation), info["action_mask"] == 1)[0].astype(np.float64)
    return int(rng.choice(len(p), p=p / p.sum()))


o, infos = envs.reset(seed=args.seed)
scale, t = 1.0, 0
for update in range(args.updates):
    rows = []
    for _ in range(args.steps):
        (x, g), mask = inputs(o), infos["action_mask"] == 1  # copies, as the arrays of o are written again
        p, value, *_ = forward(x, g, mask)
        action = np.minimum((p.cumsum(-1) < rng.random((args.envs, 1))).sum(-1), mask.shape[1] - 1 - mask[:, ::-1].argmax(-1))
        o, reward, terminated, truncated, infos = envs.step(action)
        chosen = p[np.arange(args.envs), action]
        rows.append((x, g, mask, action, chosen, value, reward, terminated | truncated, infos["elapsed"].copy()))
    x, g, mask, action, old, value, reward, over, elapsed = (np.stack(column) for column in zip(*rows, strict=True))
    scale = max(scale, np.abs(reward).std())
    following, gain, advantage = forward(*inputs(o), infos["action_mask"] == 1)[1], 0.0, np.zeros_like(value)
    for i in reversed(range(args.steps)):
        discount = np.exp(-elapsed[i] / HORIZON) * ~over[i]
        gain = reward[i] / scale + discount * following - value[i] + LAMBDA * discount * gain
        advantage[i], following = gain, value[i]
    target, normal = advantage + value, (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    batch = [a.reshape(-1, *a.shape[2:]) for a in (x, g, mask, action, old, normal, target)]
    for part in (part for _ in range(4) for part in np.array_split(rng.permutation(len(batch[0])), 4)):
        t += 1
        learn(*(a[part] for a in batch), t)
    if update % 10 == 9:
        jobs = -3600 * reward.sum() / elapsed.sum()  # the reward of an hour is minus the mean number of jobs in it
        error = ((target - value) ** 2).mean()
        print(f"update {update + 1}: {jobs:.2f} jobs wait or run, value error {error:.3f}", flush=True)
game = {k: v for k, v in GAME.items() if k not in ("scenario", "settings")}
players = {"random": lambda _, info: int(rng.choice(np.flatnonzero(info["action_mask"]))), "ppo": controller}
frame = clustergym.evaluate(GAME["scenario"], players, windows=args.windows, settings=GAME["settings"], **game)
print(frame.groupby("policy", sort=False)[["mean_jct_s", "relative"]].mean().round(1).to_string())
