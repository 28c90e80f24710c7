"""A training step of the team's network beside PyTorch: the same network, batch and weights, one thread.

It lets a Go test export batches with their log-probabilities and gradients, checks that PyTorch computes the same, and then
times both in turns by the CPU time of one thread. A step is the gradient of a batch, forward and backward, without Adam's
step, which is small on both sides. Run it from the root of the module; for options see --help.
"""

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # read when the libraries load
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("step.py compares with PyTorch, which %s does not have: apt-get install python3-torch" % sys.executable)

PACKAGE = "./agents/learn"
REFERENCE = 32  # agents.ReferenceServers
MASKED = -1e9  # kernel.Masked
SERVERS = (16, 38, 64)


def numbers(x):
    return torch.tensor(x, dtype=torch.float32)


class Batch:
    """A batch as TestExport writes it."""

    def __init__(self, path):
        with open(path) as f:
            x = json.load(f)
        self.shape, self.weight, self.spread = x["Shape"], x["Weight"], x["Spread"]
        b, n, k, o = self.rows, self.servers, self.jobs, self.candidates = [x[i] for i in ("Rows", "Servers", "Jobs", "Candidates")]
        s = self.shape
        sizes = {
            "server": (b, n, s["Server"]), "job": (b, k, s["Job"]), "candidate": (b, o, s["Offer"]), "weights": (b, o, n),
            "of": (b, o), "adjacent": (b, n, n), "server_mask": (b, n), "job_mask": (b, k), "legal": (b, o),
            "prior": (b, o), "saved": (b, o),
        }
        for name, size in sizes.items():
            setattr(self, name, numbers(x["In"][name]).view(size))
        self.params = {p["Name"]: numbers(p["Data"]).view(p["Shape"]).requires_grad_() for p in x["Params"]}
        self.logp = numbers(x["LogProbs"]).view(b, o)
        self.gradient = numbers(x["Gradient"])
        # What depends on data alone, once for all steps.
        self.picked = torch.where(self.of < 0, torch.full_like(self.of, k), self.of).long()
        self.picked = (self.picked + torch.arange(b)[:, None] * (k + 1)).view(-1)
        inducing = torch.ones(b, s["Inducing"])
        self.keys = {
            "jobs_to_servers": keys(self.server_mask, s, REFERENCE), "servers_to_jobs": keys(self.job_mask, s, 0),
            "inducing_to_servers": keys(self.server_mask, s, REFERENCE), "servers_to_inducing": keys(inducing, s, 0),
        }
        self.server_share = self.server_mask / self.server_mask.sum(1, keepdim=True).clamp(min=1)
        self.job_share = self.job_mask / self.job_mask.sum(1, keepdim=True).clamp(min=1)
        self.complete = all(bool(m.all()) for m in (self.server_mask, self.job_mask, self.legal))


def keys(mask, shape, reference):
    """What attention over keys of that mask reads: the scores' factor [B,1,1], what masks them, and who has no key."""
    by = torch.full((len(mask),), 1 / math.sqrt(shape["Width"] // shape["Heads"]))
    if reference:
        by = by * torch.log1p(mask.sum(1)) / math.log1p(reference)
    masked = None if bool(mask.all()) else torch.where(mask != 0, 0.0, MASKED)[:, None, None, :]
    return by.view(-1, 1, 1), masked, (mask.sum(1) > 0).float().view(-1, 1, 1)


def attend(p, name, x, y, batch):
    """x = layerNorm(x + attention(x, y)), agents.Net.update."""
    b, nq, d = x.shape
    nk, heads = y.shape[1], batch.shape["Heads"]
    by, masked, some = batch.keys[name]
    q = (F.linear(x, p[name + ".wq"].t(), p[name + ".bq"]) * by).view(b, nq, heads, -1).transpose(1, 2)
    k = F.linear(y, p[name + ".wk"].t(), p[name + ".bk"]).view(b, nk, heads, -1).transpose(1, 2)
    v = F.linear(y, p[name + ".wv"].t(), p[name + ".bv"]).view(b, nk, heads, -1).transpose(1, 2)
    scores = torch.matmul(q, k.transpose(2, 3))
    if masked is not None:
        scores = scores + masked
    out = torch.matmul(torch.softmax(scores, 3), v).transpose(1, 2).reshape(b, nq, d)
    if masked is not None:
        out = out * some
    out = F.linear(out, p[name + ".wo"].t(), p[name + ".bo"])
    return F.layer_norm(x + out, (d,), p[name + ".gain"], p[name + ".bias"], 1e-5)


def log_probs(p, x):
    """The log-probabilities of the candidates [B,O]: agents.Net.Forward and agents/learn."""
    b, d = x.rows, x.shape["Width"]
    h = F.relu(F.linear(x.server, p["server.w"].t(), p["server.b"]))
    y = F.relu(F.linear(x.job, p["job.w"].t(), p["job.b"]))
    y = attend(p, "jobs_to_servers", y, h, x)
    h = attend(p, "servers_to_jobs", h, y, x)
    z = attend(p, "inducing_to_servers", p["inducing.points"].expand(b, -1, -1), h, x)
    h = attend(p, "servers_to_inducing", h, z, x)
    jobs = F.pad(y, (0, 0, 0, 1)).view(-1, d).index_select(0, x.picked).view(b, x.candidates, d)  # zeros for a candidate of no job
    means = [torch.bmm(share[:, None], of).expand(-1, x.candidates, -1) for share, of in ((x.server_share, h), (x.job_share, y))]
    rows = torch.cat([torch.bmm(x.weights, h), jobs, *means, x.candidate], 2)
    u = F.relu(F.linear(rows, p["offer.w"].t(), p["offer.b"]))
    bids = torch.matmul(u, p["bid.w"]).squeeze(2)
    q = F.linear(h, p["pair.w"].t(), p["pair.b"])
    near = q + torch.bmm(x.adjacent, q)
    bids = bids + torch.matmul(torch.bmm(x.weights, q) * torch.bmm(x.weights, near), p["pair.weight"])
    logits = x.prior + bids
    if not x.complete:
        logits = logits.masked_fill(x.legal == 0, MASKED)
    return F.log_softmax(logits, 1)


def loss(logp, x):
    """The expert loss: the negative of what the policy saves and of its entropy bonus."""
    pi = logp.exp()
    if not x.complete:
        pi, logp = pi * x.legal, logp * x.legal
    return -x.weight * (pi * (x.saved - x.spread * logp)).sum()


def step(x):
    """The gradient of the batch, as learn.Machine.Run computes it."""
    for p in x.params.values():
        p.grad = None
    loss(log_probs(x.params, x), x).backward()


def check(x, name):
    """Ends the program if PyTorch computes other log-probabilities or gradients than Go exported."""
    step(x)
    with torch.no_grad():
        logp = log_probs(x.params, x)
    far = ((logp - x.logp).abs() * x.legal).max().item()
    got = torch.cat([p.grad.reshape(-1) for p in x.params.values()])
    off = ((got - x.gradient).abs() / (1e-2 + x.gradient.abs())).max().item()
    print("batch %-6s  log-probabilities differ by at most %.1e, gradients by %.1e of 0.01 + their size" % (name, far, off))
    if not (far < 1e-4 and off < 1e-4):
        sys.exit("step.py: batch %s: PyTorch computes something else than agents/learn" % name)


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def time_torch(x, steps):
    """The median CPU time of a step in ms."""
    times = []
    for i in range(3 + steps):
        start = cpu()
        step(x)
        times.append((cpu() - start) * 1e3)
    return statistics.median(times[3:])


def time_go(binary, servers, steps):
    """The mean CPU time of a step in ms, by BenchmarkStep."""
    bench = "^BenchmarkStep$/^%d$/^expert$" % servers
    out = subprocess.run(
        [binary, "-test.run", "-", "-test.bench", bench, "-test.benchtime", "%dx" % steps], cwd=PACKAGE,
        env={**os.environ, "GOMAXPROCS": "1"}, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([\d.]+) cpu-ms/op", out).group(1))


def blas():
    """The matrix library that PyTorch has loaded: Debian lets one choose, and the reference one is several times slower."""
    with open("/proc/self/maps") as f:
        files = {line.split()[-1] for line in f if "/libblas.so" in line}
    return " and ".join(sorted("/".join(f.split("/")[-2:]) for f in files)) or "no BLAS"


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--rounds", type=int, default=5, help="of Go and PyTorch in turns (5)")
    args.add_argument("--steps", type=int, default=30, help="of each in a round (30)")
    args.add_argument("--tags", default="", help="build tags of the Go side, such as openblas")
    args = args.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for both, which children inherit
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "learn.test")
        subprocess.run(["go", "test", "-c", "-tags", args.tags, "-o", binary, PACKAGE], check=True)
        export = [binary, "-test.run", "^TestExport$", "-export", folder]
        subprocess.run(export, cwd=PACKAGE, check=True, stdout=subprocess.DEVNULL)
        batches = {name: Batch(os.path.join(folder, name + ".json")) for name in ["ragged", *map(str, SERVERS)]}
        for name, x in batches.items():
            check(x, name)
        weights = len(batches["ragged"].gradient)
        print("%d weights; PyTorch %s with %s; Go with build tags %r\n" % (weights, torch.__version__, blas(), args.tags))
        print("| servers | Go, ms | PyTorch, ms | ratio | ratios of the rounds |\n|---|---|---|---|---|")
        for servers in SERVERS:
            pairs = [(time_go(binary, servers, args.steps), time_torch(batches[str(servers)], args.steps))
                     for _ in range(args.rounds)]
            ratios = sorted(g / t for g, t in pairs)
            go, pytorch = (statistics.median(side) for side in zip(*pairs))
            print("| %d | %.1f | %.1f | %.2f x | %.2f to %.2f |" % (
                servers, go, pytorch, statistics.median(ratios), ratios[0], ratios[-1]))


if __name__ == "__main__":
    main()
