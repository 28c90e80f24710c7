"""Policies that were trained with other software, as bundles that the program loads and decides by."""

from __future__ import annotations

import json
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from ._options import flags
from .results import run


class ModelProto(Protocol):
    """What onnx.ModelProto has of a message of protocol buffers."""

    def SerializeToString(self) -> bytes: ...


def export_policy(
    model: str | PathLike[str] | bytes | ModelProto,
    folder: str | PathLike[str],
    scenario: str = "embedded-small-v1",
    *,
    name: str | None = None,
    sign_key: str | PathLike[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Writes the policy of a central controller that was trained in ClusterEnv, as a bundle, by `clustergym export`.

    The folder is then a policy of the program: `clustergym eval --policies`, `plan --policy`, `serve --policy` and evaluate take
    it. A bundle that is already in the folder is replaced; if the model is refused, nothing is written.

    The inputs of the model are named as the observations of ClusterEnv, one or more of servers [A,F], jobs [J,F], job_mask [J],
    candidates [C,F], job_of [C], coalition [C,A] and cluster [F], and action_mask [C] of its infos. Each may have a first
    dimension of 1. Tables of features, coalition and cluster are float32, the others any type that holds their numbers. Its
    output is float32 [C] or [1,C], a score for each number that may be named; with several outputs it is the one that is named
    scores. The highest score of the numbers that action_mask allows is taken, the lowest number of several. Equal observations
    give equal decisions.

    Args:
        model: the path of an ONNX file, its bytes, an onnx.ModelProto, or what torch.onnx.export returns with dynamo=True. If
            torch.onnx.export has put the weights into a file beside it, PATH.data, the package onnx has to be installed.
        folder: where to write the bundle.
        scenario: in which the policy was trained. It plays 64 rounds there before the folder is written, and `clustergym eval`
            later refuses windows on which it was trained.
        name: the name of the policy; None for that of the folder.
        sign_key: the file of the private key to sign the bundle with.
        options: those of the ClusterEnv in which the policy was trained, such as prior, window, candidates, encoder and reward.

    Returns:
        policy, its name; out, the folder; digest, of all that its decisions depend on; trial, a dictionary with the rounds that
        it played, and in how many it did not name the prior's choice.

    Raises:
        ClusterGymError: the model does not fit what the environment shows, or the program cannot compute it; the message says
            why.
    """
    with tempfile.TemporaryDirectory() as scratch:
        args = ["--model", _file(model, Path(scratch) / "model.onnx"), "--out", str(folder), *flags(scenario, **options)]
        if name is not None:
            args += ["--name", name]
        if sign_key is not None:
            args += ["--sign-key", str(sign_key)]
        return json.loads(run("export", "--json", *args))


def _file(model: Any, scratch: Path) -> str:
    """Returns the path of a file that contains the model with its weights; scratch can be used for it."""
    if isinstance(model, (str, PathLike)):
        path = Path(model)
        if not path.with_name(path.name + ".data").exists():
            return str(path)
        import onnx

        model = onnx.load(path)
    model = getattr(model, "model_proto", model)  # of a torch.onnx.ONNXProgram
    if not isinstance(model, bytes) and not hasattr(model, "SerializeToString"):
        raise TypeError(
            f"model is a {type(model).__name__}, want the path of an ONNX file, its bytes, an onnx.ModelProto, or what"
            " torch.onnx.export returns with dynamo=True"
        )
    scratch.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return str(scratch)
