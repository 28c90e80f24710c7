// Runs an ONNX model with ONNX Runtime on one thread: node run.js RUNTIME MODEL. RUNTIME is the folder that `make onnxruntime`
// fills. Requests come on standard input, an answer to each goes to standard output, one line of JSON each.
//
//   {"feeds": {"x": {"type": "float32", "dims": [2, 3], "data": [...]}}, "times": 5}
//   {"outputs": {"y": {"dims": [2], "data": [...]}}, "ns": 12345}  or  {"error": "..."}
//
// Without feeds those of the request before are run again. ns is the time of all runs together.
'use strict';
const path = require('path');
const readline = require('readline');

const [runtime, model] = process.argv.slice(2);
const ort = require(path.join(runtime, 'node_modules', 'onnxruntime-node'));

const arrays = {float32: Float32Array, int64: BigInt64Array};

function tensor({type, dims, data}) {
  const values = type === 'int64' ? data.map(BigInt) : data;
  return new ort.Tensor(type, arrays[type].from(values), dims);
}

async function main() {
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ['cpu'], intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential',
    graphOptimizationLevel: 'all', logSeverityLevel: 3,
  });
  let feeds;
  for await (const line of readline.createInterface({input: process.stdin})) {
    let answer;
    try {
      const request = JSON.parse(line);
      if (request.feeds) {
        feeds = Object.fromEntries(Object.entries(request.feeds).map(([name, t]) => [name, tensor(t)]));
      }
      let out;
      const start = process.hrtime.bigint();
      for (let i = 0; i < request.times; i++) out = await session.run(feeds);
      const ns = Number(process.hrtime.bigint() - start);
      answer = {outputs: {}, ns};
      for (const [name, t] of Object.entries(out)) answer.outputs[name] = {dims: t.dims, data: Array.from(t.data, Number)};
    } catch (err) {
      answer = {error: String(err.message || err)};
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
}

main().catch((err) => { console.error(err); process.exit(1); });
