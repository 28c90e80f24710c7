"""Runs an ONNX model with ONNX Runtime on one thread: python run.py MODEL.

Requests come on standard input, an answer to each goes to standard output, one line of JSON each:

    {"feeds": {"x": {"type": "float32", "dims": [2, 3], "data": [...]}}, "times": 5}
    {"outputs": {"y": {"dims": [2], "data": [...]}}, "ns": 12345}  or  {"error": "..."}

Without feeds those of the request before are run again. ns is the time of all runs together.
"""

import json
import math
import sys
import time

import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
names = [output.name for output in session.get_outputs()]
number = {"float32": float, "int64": int}
feeds = {}

for line in sys.stdin:
    try:
        request = json.loads(line)
        if "feeds" in request:
            feeds = {
                name: np.array([number[t["type"]](x) for x in t["data"]], t["type"]).reshape(t["dims"])
                for name, t in request["feeds"].items()
            }
        began = time.perf_counter_ns()
        for _ in range(request["times"]):
            outputs = session.run(names, feeds)
        answer = {"ns": time.perf_counter_ns() - began}
        answer["outputs"] = {
            name: {"dims": y.shape, "data": [x if math.isfinite(x) else None for x in y.ravel().tolist()]}
            for name, y in zip(names, outputs)
        }
    except Exception as err:  # noqa: BLE001: whatever it is, the test that asked says it
        answer = {"error": str(err)}
    print(json.dumps(answer), flush=True)
