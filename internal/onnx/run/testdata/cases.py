"""Writes cases.json: models of one or a few operators with inputs, and what ONNX Runtime computes from them.

Needs the packages numpy, onnx and onnxruntime:

    python internal/onnx/run/testdata/cases.py > internal/onnx/run/testdata/cases.json
"""

import base64
import json

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference

rng = np.random.default_rng(1)
cases = []


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def text(a):
    # JSON has no infinities.
    data = [str(x) if isinstance(x, float) and not np.isfinite(x) else x for x in a.ravel().tolist()]
    return {"type": str(a.dtype), "shape": list(a.shape), "data": data}


def case(name, nodes, inputs, outputs=("y",), opset=18, **stored):
    """Adds a case: nodes compute outputs from inputs and stored arrays."""
    kind = lambda a: helper.np_dtype_to_tensor_dtype(a.dtype)
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(k, kind(a), [f"{k}{i}" for i in range(a.ndim)]) for k, a in inputs.items()],
        [helper.make_empty_tensor_value_info(k) for k in outputs],
        [numpy_helper.from_array(a, k) for k, a in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    # The outputs have no types yet: let the runtime infer them.
    inferred = shape_inference.infer_shapes(model)
    known = {v.name: v for v in inferred.graph.value_info}
    known.update({v.name: v for v in inferred.graph.output if v.type.WhichOneof("value")})
    del model.graph.output[:]
    for k in outputs:
        model.graph.output.append(helper.make_tensor_value_info(k, known[k].type.tensor_type.elem_type, None))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = session.run(list(outputs), inputs)
    cases.append(
        {
            "name": name,
            "model": base64.b64encode(model.SerializeToString()).decode(),
            "inputs": {k: text(a) for k, a in inputs.items()},
            "outputs": {k: text(a) for k, a in zip(outputs, values)},
        }
    )


def one(operator, *inputs, name=None, outputs=("y",), opset=18, **attributes):
    """Adds a case of one operator. None is an input that is left out."""
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    given = {n: a for n, a in zip(names, inputs) if n}
    case(name or operator, [helper.make_node(operator, names, list(outputs), **attributes)], given, outputs, opset)


def ints(*xs):
    return np.array(xs, np.int64)


special = np.array([-np.inf, -88.5, -3.5, -0.5, -0.0, 0.0, 0.25, 0.5, 3, 88, np.inf, np.nan], np.float32)
for operator in ("Relu", "Sigmoid", "Exp", "Tanh", "Erf"):
    one(operator, special)
for operator in ("Reciprocal", "Neg", "Abs", "LeakyRelu", "Elu", "IsNaN"):
    one(operator, special)
for operator in ("Sin", "Cos", "Sign", "Softplus", "HardSwish", "Mish"):
    one(operator, special[1:10])
one("Log", np.abs(special))
one("Sqrt", np.abs(special))
one("Gelu", special[1:10], opset=20)
one("Gelu", special[1:10], name="Gelu tanh", opset=20, approximate="tanh")
for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
    one(operator, floats(2, 1, 3), floats(4, 1), name=operator + " broadcast")
    one(operator, ints(7, -7, 9), ints(2, 3, -4), name=operator + " integers")
one("Add", floats(3), np.array(2, np.float32), name="Add a number")
one("Add", floats(2, 0), floats(1, 1), name="Add nothing")
one("Add", np.array([2**31 - 1], np.int32), np.array([5], np.int32), name="Add wraps")
one("Pow", np.abs(floats(5)), np.array(2, np.float32))
one("Pow", floats(5), ints(3), name="Pow integer")
for operator in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"):
    one(operator, ints(1, 2, 3), ints(3, 2, 1))
    one(operator, special, np.array([0], np.float32), name=operator + " floats")
yes = np.array([[True], [False]])
for operator in ("And", "Or"):
    one(operator, yes, np.array([True, False, True]))
one("Not", yes)
one("Equal", yes, yes.T, name="Equal booleans")
one("Where", yes, floats(2, 3), floats(3))
one("Where", np.array(True), floats(2, 3), np.array(-np.inf, np.float32), name="Where number")
one("Clip", floats(6), np.array(-0.5, np.float32), np.array(0.5, np.float32))
one("Clip", ints(1, 5, 9), None, np.array(4), name="Clip above")
for to in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.FLOAT):
    one("Cast", np.array([-2.7, -0.5, 0, 0.5, 2.7, 1e6], np.float32), name=f"Cast to {to}", to=to)
one("Cast", ints(0, 1, 300, -1), name="Cast to uint8", to=TensorProto.UINT8)
one("Cast", ints(0, 1, 300, -1), name="Cast to int8", to=TensorProto.INT8)
one("Cast", yes, name="Cast bool", to=TensorProto.FLOAT)
one("CastLike", yes, floats(1))
one("Identity", floats(2))
one("Dropout", floats(2))
one("ConstantOfShape", ints(2, 3), value=numpy_helper.from_array(np.array([-1], np.int64)))
one("ConstantOfShape", ints(), name="ConstantOfShape number")
one("Range", np.array(1, np.int64), np.array(10, np.int64), np.array(3, np.int64))
one("Range", np.array(1, np.float32), np.array(-1, np.float32), np.array(-0.5, np.float32), name="Range floats")
one("Constant", name="Constant tensor", value=numpy_helper.from_array(floats(2, 2)))
one("Constant", name="Constant floats", value_floats=[1.5, 2.5])
one("Constant", name="Constant int", value_int=3)

one("Shape", floats(2, 3, 4))
one("Shape", floats(2, 3, 4), name="Shape part", start=-2, end=5)
one("Reshape", floats(2, 6), ints(0, -1, 3))
one("Reshape", floats(0, 6), ints(0, 3, 2), name="Reshape nothing", allowzero=1)
one("Flatten", floats(2, 3, 4), axis=2)
one("Flatten", floats(2, 3, 4), name="Flatten end", axis=-3)
one("Squeeze", floats(1, 2, 1), ints(-1))
one("Squeeze", floats(1, 2, 1), name="Squeeze all")
one("Unsqueeze", floats(2, 3), ints(0, -1))
one("Transpose", floats(2, 3, 4), perm=[2, 0, 1])
one("Transpose", floats(2, 3), name="Transpose all")
one("Expand", floats(3, 1), ints(2, 1, 4))
one("Tile", floats(2, 3), ints(2, 3))
one("Concat", floats(2, 1), floats(2, 0), floats(2, 3), axis=-1)
one("Concat", ints(1), ints(2, 3), name="Concat integers", axis=0)
one("Split", floats(5, 2), ints(2, 0, 3), outputs=("y", "z", "w"), axis=0)
one("Split", floats(2, 5), outputs=("y", "z"), name="Split equally", axis=1, num_outputs=2)
one("Slice", floats(4, 6), ints(1), ints(2**63 - 1), ints(-1), ints(2))
one("Slice", floats(4), ints(3), ints(2), name="Slice nothing")
one("Gather", floats(3, 2, 2), ints(2, -1, 0).reshape(1, 3), axis=0)
one("Gather", floats(2, 3), np.array(1, np.int64), name="Gather column", axis=1)
one("GatherElements", floats(3, 2), np.array([[1, -1], [0, 2]]), axis=0)
one("GatherElements", floats(2, 3), np.array([[2], [0]]), name="GatherElements across", axis=1)

one("MatMul", floats(2, 3), floats(3, 4))
one("MatMul", floats(3), floats(3), name="MatMul vectors")
one("MatMul", floats(5, 2, 3), floats(3), name="MatMul by a vector")
one("MatMul", floats(3), floats(2, 3, 4), name="MatMul of a vector")
one("MatMul", floats(5, 2, 3), floats(3, 4), name="MatMul many by one")
one("MatMul", floats(2, 1, 2, 3), floats(5, 3, 4), name="MatMul many by many")
one("MatMul", floats(2, 0), floats(0, 3), name="MatMul of nothing")
one("Gemm", floats(2, 3), floats(3, 4), floats(4))
one("Gemm", floats(3, 2), floats(4, 3), floats(2, 1), name="Gemm turned", transA=1, transB=1, alpha=0.5, beta=2.0)
one("Gemm", floats(3, 130), floats(130, 4), name="Gemm large")
one("Softmax", floats(2, 3))
one("Softmax", floats(2, 3, 2), name="Softmax middle", axis=1)
one("Softmax", np.array([[0, -np.inf, 1], [2, -np.inf, -np.inf]], np.float32), name="Softmax masked")
one("LogSoftmax", floats(2, 3), axis=0)
one("LayerNormalization", floats(2, 3, 4), floats(4), floats(4), opset=17)
one("LayerNormalization", floats(2, 3, 4), floats(3, 4), name="LayerNormalization of two", opset=17, axis=1, epsilon=0.1)
for operator in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
    one(operator, floats(2, 3, 4), ints(-1, 0), name=operator + " of two")
    one(operator, floats(2, 3, 4), ints(1), name=operator + " dropped", keepdims=0)
    one(operator, floats(2, 3), name=operator + " all")
one("ReduceSum", floats(2, 3), ints(), name="ReduceSum none", noop_with_empty_axes=1)
one("ReduceSum", ints(1, 2, 3), name="ReduceSum integers")
one("ReduceMean", floats(2, 3), name="ReduceMean by attribute", opset=17, axes=[1])

# A layer of attention as exporters write it: shapes are computed from those of the input.
node = helper.make_node
case(
    "attention",
    [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "two"], ["n"], axis=0),
        node("Unsqueeze", ["n", "zero"], ["rows"]),
        node("Concat", ["one", "rows", "heads"], ["parts"], axis=0),
        node("MatMul", ["x", "w"], ["qkv"]),
        node("Add", ["qkv", "b"], ["qkvb"]),
        node("Split", ["qkvb"], ["q", "k", "v"], axis=-1, num_outputs=3),
        node("Reshape", ["q", "parts"], ["q4"]),
        node("Reshape", ["k", "parts"], ["k4"]),
        node("Reshape", ["v", "parts"], ["v4"]),
        node("Transpose", ["q4"], ["qt"], perm=[0, 2, 1, 3]),
        node("Transpose", ["k4"], ["kt"], perm=[0, 2, 3, 1]),
        node("Transpose", ["v4"], ["vt"], perm=[0, 2, 1, 3]),
        node("MatMul", ["qt", "kt"], ["scores"]),
        node("Mul", ["scores", "scale"], ["scaled"]),
        node("Cast", ["mask"], ["shown"], to=TensorProto.BOOL),
        node("Unsqueeze", ["shown", "axes"], ["wide"]),
        node("Where", ["wide", "scaled", "never"], ["masked"]),
        node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", "vt"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Concat", ["one", "rows", "width"], ["whole"], axis=0),
        node("Reshape", ["back", "whole"], ["joined"]),
        node("Add", ["joined", "x"], ["residual"]),
        node("LayerNormalization", ["residual", "gain", "bias"], ["y"]),
    ],
    {"x": floats(1, 5, 8), "mask": np.array([[1, 1, 1, 0, 0]], np.int8)},
    two=np.array(1, np.int64), zero=ints(0), one=ints(1), heads=ints(2, 4), width=ints(8), axes=ints(1, 2),
    w=floats(8, 24), b=floats(24), scale=np.array(0.5, np.float32), never=np.array(-np.inf, np.float32),
    gain=floats(8), bias=floats(8),
)

one("Mod", ints(7, -7, 9, -8), ints(3, 3, -4, -4))
one("Pow", floats(3, 2), np.array(2, np.float32), name="Pow square")
one("Pow", floats(3), np.array([[2]], np.float32), name="Pow square of more dimensions")
one("Einsum", floats(2, 3, 4), floats(2, 4, 5), equation="bij,bjk->bik")
one("Einsum", floats(2, 3, 4), floats(4), name="Einsum sum", equation="bij, j->")
one("Einsum", floats(3, 3), name="Einsum diagonal", equation="ii->i")
one("Einsum", floats(3), floats(2), name="Einsum outer", equation="i,j->ji")
for operator in ("Selu", "Celu", "Softsign", "HardSigmoid"):
    one(operator, special[1:10])
one("Celu", special[1:10], name="Celu alpha", alpha=0.5)
one("Selu", special[1:10], name="Selu parameters", alpha=2.0, gamma=3.0)
one("HardSigmoid", special[1:10], name="HardSigmoid parameters", alpha=0.5, beta=0.25)
one("PRelu", floats(2, 3, 4), floats(3, 1))
one("ReduceL2", floats(2, 3, 4), ints(1))
one("ReduceL2", floats(2, 3), name="ReduceL2 all", keepdims=0)
one("Trilu", floats(2, 3, 4))
one("Trilu", floats(4, 3), ints(-1).reshape(()), name="Trilu lower", upper=0)
one("Trilu", ints(*range(9)).reshape(3, 3), np.array(2**62), name="Trilu of nothing")
one("BatchNormalization", floats(2, 3, 4), floats(3), floats(3), floats(3), np.abs(floats(3)))
one("BatchNormalization", floats(5, 3), floats(3), floats(3), floats(3), np.abs(floats(3)), name="BatchNormalization rows", epsilon=0.1)

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
