"""Random agents in the PettingZoo environment: every server names a number that it may name."""

import argparse

import clustergym

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--scenario", default="embedded-small-v1")
flags.add_argument("--seed", type=int, default=1)
flags.add_argument("--rounds", type=int, default=1000, help="how many rounds to play at most")
args = flags.parse_args()

env = clustergym.parallel_env(args.scenario, render_mode="ansi")
for i, agent in enumerate(env.possible_agents):
    env.action_space(agent).seed(args.seed + i)
observations, infos = env.reset(seed=args.seed)
total, rounds = 0.0, 0
while env.agents and rounds < args.rounds:
    actions = {agent: env.action_space(agent).sample(mask=o["action_mask"]) for agent, o in observations.items()}
    observations, rewards, terminated, truncated, infos = env.step(actions)
    total, rounds = total + rewards["server_0"], rounds + 1
print(env.render())
print(f"{rounds} rounds, {infos['server_0']['now'] / 3600:.1f} h, reward {total:.2f}")
env.close()
