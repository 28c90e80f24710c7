"""Policies that were trained with other software, here networks of random weights."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import clustergym

SCENARIO = "embedded-small-v1"
SETTINGS = {"cluster.servers": 5}


def network(options, seed=1, kinds=None, sizes="", batch=False, hidden=8):
    """Returns a network that reads all that an environment shows. Its axes are dynamic but for the sizes given.

    A candidate's hidden layer sums what it is, its job, its servers and the cluster; job_mask and action_mask enter, too.
    """
    env = clustergym.ClusterEnv(SCENARIO, settings=SETTINGS, **options)
    try:
        space = env.observation_space
        width = {key: space[key].shape[-1] for key in ("servers", "jobs", "candidates", "cluster")}
        count = dict(zip("CJA", (*space["candidates"].shape[:1], *space["jobs"].shape[:1], *space["servers"].shape[:1])))
    finally:
        env.close()
    rng, kinds = np.random.default_rng(seed), kinds or {}
    weights = {f"w_{key}": rng.normal(size=(n, hidden)) / np.sqrt(n) for key, n in width.items()}
    weights |= {"w_out": 3 * rng.normal(size=(hidden, 1)), "bias": rng.normal(size=hidden)}
    weights |= {"zero": np.zeros(1), "half": np.array(0.1)}
    weights = {key: w.astype(np.float32) for key, w in weights.items()}
    weights |= {"last": np.array([-1]), "first": np.array([0]), "none": np.array(0)}
    shapes = {
        "servers": ("A", width["servers"]),
        "jobs": ("J", width["jobs"]),
        "job_mask": ("J",),
        "candidates": ("C", width["candidates"]),
        "job_of": ("C",),
        "coalition": ("C", "A"),
        "cluster": (width["cluster"],),
        "action_mask": ("C",),
    }
    types = dict.fromkeys(shapes, TensorProto.FLOAT) | {"job_mask": TensorProto.INT8, "job_of": TensorProto.INT32}
    types |= {"action_mask": TensorProto.BOOL, **kinds}
    inputs = []
    for key, shape in shapes.items():
        dims = [count[d] if isinstance(d, str) and d in sizes else d for d in shape]
        inputs.append(helper.make_tensor_value_info(key, types[key], [1, *dims] if batch else dims))
    n, nodes = helper.make_node, []
    given = {key: key for key in shapes}
    if batch:
        nodes += [n("Squeeze", [key, "first"], [f"{key}_0"]) for key in shapes]
        given = {key: f"{key}_0" for key in shapes}
    nodes += [
        *(n("MatMul", [given[key], f"w_{key}"], [f"h_{key}"]) for key in width),
        n("Cast", [given["job_mask"]], ["shown"], to=TensorProto.FLOAT),
        n("Unsqueeze", ["shown", "last"], ["shown_rows"]),
        n("Mul", ["h_jobs", "shown_rows"], ["h_shown"]),
        n("Cast", [given["job_of"]], ["of"], to=TensorProto.INT64),
        n("Less", ["of", "none"], ["no_job"]),
        n("Where", ["no_job", "none", "of"], ["row"]),
        n("Gather", ["h_shown", "row"], ["job"], axis=0),
        n("Unsqueeze", ["no_job", "last"], ["no_job_rows"]),
        n("Where", ["no_job_rows", "zero", "job"], ["own_job"]),
        n("MatMul", [given["coalition"], "h_servers"], ["own_servers"]),
        n("Add", ["h_candidates", "own_job"], ["a"]),
        n("Add", ["a", "own_servers"], ["b"]),
        n("Add", ["b", "h_cluster"], ["c"]),
        n("Add", ["c", "bias"], ["d"]),
        n("Tanh", ["d"], ["e"]),
        n("MatMul", ["e", "w_out"], ["f"]),
        n("Squeeze", ["f", "last"], ["g"]),
        n("Cast", [given["action_mask"]], ["legal"], to=TensorProto.FLOAT),
        n("Mul", ["legal", "half"], ["bonus"]),
        n("Add", ["g", "bonus"], ["scores_0" if batch else "scores"]),
    ]
    if batch:
        nodes.append(n("Unsqueeze", ["scores_0", "first"], ["scores"]))
    graph = helper.make_graph(
        nodes,
        "policy",
        inputs,
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, "C"] if batch else ["C"])],
        [numpy_helper.from_array(w, key) for key, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def player(model):
    """Returns the policy of a model in Python, by ONNX Runtime."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    kinds = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    batch = {i.name: len(i.shape) for i in session.get_inputs()}

    def play(observation, info):
        shown = {**observation, "action_mask": info["action_mask"]}
        feed = {key: shown[key].astype(kind) for key, kind in kinds.items()}
        feed = {key: a if a.ndim == batch[key] else a[None] for key, a in feed.items()}
        (scores,) = session.run(["scores"], feed)
        return int(np.argmax(np.where(info["action_mask"], scores.reshape(-1), -np.inf)))

    return play


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({"prior": "sjfskip"}, {}),
        ({}, {"batch": True}),  # the default prior, whose rule moves jobs
        ({"prior": "sjfskip", "window": 5, "encoder": "uncertain"}, {"sizes": "CJA"}),
        (
            {"prior": "srsf+menu", "candidates": 24, "rivals": ["las"]},
            {"kinds": {"job_of": TensorProto.INT64, "job_mask": TensorProto.BOOL, "action_mask": TensorProto.FLOAT}},
        ),
    ],
)
def test_the_program_decides_as_python_did(tmp_path, options, how):
    model = network(options, **how)
    result = clustergym.export_policy(model, tmp_path / "policy", SCENARIO, settings=SETTINGS, **options)
    assert result["policy"] == "policy" and result["trial"]["rounds"] == 64 and result["trial"]["other_than_prior"] > 0
    policies = {"mine": player(model), "bundle": str(tmp_path / "policy")}
    frame = clustergym.evaluate(SCENARIO, policies, windows=2, seeds=2, settings=SETTINGS, **options)
    by = {name: rows.drop(columns="policy").reset_index(drop=True) for name, rows in frame.groupby("policy")}
    # The environment also counts refused candidates, of which a scheduler in the program has none.
    same = by["mine"].eq(by["bundle"]).drop(columns="refused")
    assert len(by["mine"]) == 4 and same.to_numpy().all(), by
    assert (by["mine"].difference != 0).all()


def attending(hidden=8, heads=2):
    """Returns a network in which each candidate attends to all servers, as exporters write it: shapes that are computed, and
    products of the heads."""
    env = clustergym.ClusterEnv(SCENARIO, settings=SETTINGS, prior="sjfskip")
    width = {key: env.observation_space[key].shape[-1] for key in ("servers", "candidates")}
    env.close()
    rng = np.random.default_rng(2)
    weights = {"w_q": rng.normal(size=(width["candidates"], hidden)), "w_out": 3 * rng.normal(size=(hidden, 1))}
    weights |= {f"w_{key}": rng.normal(size=(width["servers"], hidden)) for key in "kv"}
    weights = {key: w.astype(np.float32) for key, w in weights.items()} | {"last": np.array([-1]), "first": np.array([0])}
    weights |= {"heads": np.array([heads]), "end": np.array(-1), "scale": np.array((hidden / heads) ** -0.5, np.float32)}
    n = helper.make_node
    nodes = [n("MatMul", [of, f"w_{key}"], [key]) for key, of in (("q", "candidates"), ("k", "servers"), ("v", "servers"))]
    nodes += [
        n("Shape", ["q"], ["shape"]),
        n("Gather", ["shape", "end"], ["width"]),
        n("Unsqueeze", ["width", "first"], ["widths"]),
        n("Mod", ["widths", "heads"], ["rest"]),
        n("Div", ["widths", "heads"], ["each"]),
        n("Add", ["each", "rest"], ["size"]),
        n("Concat", ["first", "last", "heads", "size"], ["parts"], axis=0),
        *(n("Reshape", [key, "parts"], [f"{key}_heads"]) for key in "qkv"),
        n("Einsum", ["q_heads", "k_heads"], ["products"], equation="bchd,bahd->bhca"),
        n("Mul", ["products", "scale"], ["scaled"]),
        n("Softmax", ["scaled"], ["weights"], axis=-1),
        n("Transpose", ["v_heads"], ["values"], perm=[0, 2, 1, 3]),
        n("MatMul", ["weights", "values"], ["by_head"]),
        n("Transpose", ["by_head"], ["together"], perm=[0, 2, 1, 3]),
        n("Concat", ["first", "last", "widths"], ["whole"], axis=0),
        n("Reshape", ["together", "whole"], ["mixed"]),
    ]
    nodes += [
        n("Add", ["mixed", "q"], ["sum"]),
        n("MatMul", ["sum", "w_out"], ["rows"]),
        n("Squeeze", ["rows", "last"], ["scores"]),
    ]
    inputs = [
        helper.make_tensor_value_info("servers", TensorProto.FLOAT, [1, "A", width["servers"]]),
        helper.make_tensor_value_info("candidates", TensorProto.FLOAT, [1, "C", width["candidates"]]),
    ]
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, "C"])
    graph = helper.make_graph(nodes, "policy", inputs, [scores], [numpy_helper.from_array(w, key) for key, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_attention_decides_as_python_did(tmp_path):
    model = attending()
    onnx.checker.check_model(model)
    clustergym.export_policy(model, tmp_path / "policy", SCENARIO, settings=SETTINGS, prior="sjfskip")
    policies = {"mine": player(model), "bundle": tmp_path / "policy"}
    frame = clustergym.evaluate(SCENARIO, policies, windows=1, settings=SETTINGS, prior="sjfskip")
    by = {name: rows.drop(columns=["policy", "refused"]).reset_index(drop=True) for name, rows in frame.groupby("policy")}
    assert by["mine"].equals(by["bundle"]) and (by["mine"].difference != 0).all(), by


def test_a_later_operator_set_is_refused(tmp_path):
    model = attending()
    model.opset_import[0].version = 23
    refused(tmp_path, "operator set 23, want 13 to 22: export it with opset_version=18", model)


def test_every_way_to_give_a_model(tmp_path):
    options = {"prior": "sjfskip", "settings": SETTINGS}
    model = network({"prior": "sjfskip"})
    onnx.save(model, tmp_path / "one.onnx")
    other = onnx.ModelProto()
    other.CopyFrom(model)  # because saving takes the weights out of it
    onnx.save(other, tmp_path / "two.onnx", save_as_external_data=True, location="two.onnx.data", size_threshold=0)

    class Program:
        model_proto = model

    ways = [model, model.SerializeToString(), tmp_path / "one.onnx", str(tmp_path / "two.onnx"), Program()]
    folder = tmp_path / "policy"
    results = [clustergym.export_policy(way, folder, SCENARIO, name=f"p{i}", **options) for i, way in enumerate(ways)]
    assert [r["policy"] for r in results] == ["p0", "p1", "p2", "p3", "p4"]
    assert sorted(f.name for f in (tmp_path / "policy").iterdir()) == ["README.md", "manifest.json", "policy.onnx"]
    onnx.checker.check_model(str(tmp_path / "policy" / "policy.onnx"))
    with pytest.raises(clustergym.ClusterGymError, match="export with external_data=False"):
        clustergym.export_policy((tmp_path / "two.onnx").read_bytes(), tmp_path / "policy", SCENARIO, **options)
    with pytest.raises(clustergym.ClusterGymError, match="was trained or chosen on jobs of train"):
        clustergym.evaluate(SCENARIO, [str(tmp_path / "policy")], split="train", windows=1, settings=SETTINGS)


def refused(tmp_path, match, model, **options):
    with pytest.raises(clustergym.ClusterGymError, match=match):
        clustergym.export_policy(model, tmp_path / "policy", SCENARIO, **{"settings": SETTINGS, "prior": "sjfskip", **options})
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused(tmp_path):
    model = network({"prior": "sjfskip"})
    refused(tmp_path, r"input candidates has the shape .* want \[26 64\]", model, candidates=24)
    refused(tmp_path, r"input servers has the shape", model, encoder="uncertain")
    refused(tmp_path, "want one without \\+know", model, prior="sjfskip+know")
    refused(tmp_path, "--prior: .*lottery", model, prior="lottery")
    refused(tmp_path, "no-such-split.: want one of train", model, split="no-such-split")
    fixed = network({"prior": "sjfskip"}, sizes="A")
    refused(tmp_path, "made for 5 servers, the cluster has 4", fixed, settings={"cluster.servers": 4})
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    renamed.graph.input[0].name = "obs"
    refused(tmp_path, 'reads "servers", which nothing computes', renamed)
    refused(tmp_path, "not a model of ONNX", b"a text")
    with pytest.raises(TypeError, match="model is a object, want the path of an ONNX file"):
        clustergym.export_policy(object(), tmp_path / "policy", SCENARIO)
    undefined = onnx.ModelProto()
    undefined.CopyFrom(model)
    by = {node.op_type: node for node in undefined.graph.node}
    by["Tanh"].op_type = "Log"
    refused(tmp_path, r"in \d+ of 64 rounds the score .* is infinite or no number \(NaN\)", undefined)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "mine.txt").write_text("mine")
    with pytest.raises(clustergym.ClusterGymError, match="holds mine.txt"):
        clustergym.export_policy(model, tmp_path / "policy", SCENARIO, settings=SETTINGS, prior="sjfskip")
