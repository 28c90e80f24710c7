// A schedule as the page looks at it: where every job was and when, what stands on every server, and levels over time. Times
// are in ticks.

function makeSchedules({ head, columns }) {
  const jobs = {
    n: columns['jobs.name'].length, name: columns['jobs.name'], submit: columns['jobs.submit'], work: columns['jobs.work'],
    estimate: columns['jobs.estimate'], workers: columns['jobs.workers'], least: columns['jobs.least'], most: columns['jobs.most'],
    milli: columns['jobs.milli'], userOf: columns['jobs.userOf'],
    user: j => columns['jobs.user'][columns['jobs.userOf'][j]], tenant: j => columns['jobs.tenant'][columns['jobs.tenantOf'][j]],
    model: j => columns['jobs.model'][columns['jobs.modelOf'][j]], type: j => columns['jobs.type'][columns['jobs.typeOf'][j]],
  };
  const servers = head.servers, row = new Uint32Array(servers.length + 1); // row[s]: the first row of server s
  servers.forEach((s, i) => { row[i + 1] = row[i] + s.gpus; });
  const cluster = { servers, row, rows: row[servers.length], inference: servers.some(s => s.inference) };
  const all = head.schedules.map((about, k) => makeSchedule(about, name => columns[k + '.' + name], head, jobs, cluster));
  return { tick: head.tick, until: head.until, warm: head.warm, jobs, cluster, all };
}

function makeSchedule(about, column, head, jobs, cluster) {
  const s = { about, jobs, cluster, tick: head.tick, until: about.until, ends: head.ends };
  const counts = column('stays'), gap = column('gap'), length = column('length'), boxes = column('boxes');
  const stays = gap.length;
  s.first = new Uint32Array(jobs.n + 1); // first[j]: the first stay of job j
  s.job = new Uint32Array(stays); // of a stay
  s.from = new Uint32Array(stays);
  s.to = new Uint32Array(stays);
  s.why = column('why');
  s.box = new Uint32Array(stays + 1); // box[i]: the first box of stay i
  for (let j = 0, i = 0; j < jobs.n; j++) {
    let last = jobs.submit[j];
    for (let k = 0; k < counts[j]; k++, i++) {
      s.job[i] = j;
      s.from[i] = last + gap[i];
      last = s.to[i] = s.from[i] + length[i];
      s.box[i + 1] = s.box[i] + boxes[i];
    }
    s.first[j + 1] = i;
  }
  s.server = column('server'); s.gpu = column('gpu'); s.count = column('count'); s.milli = column('milli'); s.slot = column('slot');
  s.stay = new Uint32Array(s.server.length); // of a box
  for (let i = 0; i < stays; i++) s.stay.fill(i, s.box[i], s.box[i + 1]);
  s.loans = { server: column('loan.server'), from: column('loan.from'), to: column('loan.to') };
  s.downs = { server: column('down.server'), gpu: column('down.gpu'), from: column('down.from'), to: column('down.to') };
  const kind = name => s.ends.indexOf(name);
  s.FINISH = kind('finish'); s.PREEMPT = kind('preempt'); s.INTERRUPT = kind('interrupt'); s.END = kind('end');
  byServer(s);
  s.levels = makeLevels(s, column('need.at'), column('need.milli'));
  return s;
}

// byServer orders the boxes by server and time: order holds them, start[v] is where server v begins, and latest[i] is when the
// last of those up to i on the same server ends, so that a search finds the first that a window shows.
function byServer(s) {
  const n = s.server.length, from = new Uint32Array(n);
  for (let b = 0; b < n; b++) from[b] = s.from[s.stay[b]];
  const inTime = sorted(from);
  s.start = new Uint32Array(s.cluster.servers.length + 1);
  for (let b = 0; b < n; b++) s.start[s.server[b] + 1]++;
  for (let v = 0; v < s.cluster.servers.length; v++) s.start[v + 1] += s.start[v];
  const next = s.start.slice();
  s.order = new Uint32Array(n);
  for (let i = 0; i < n; i++) s.order[next[s.server[inTime[i]]]++] = inTime[i];
  s.latest = new Uint32Array(n);
  for (let v = 0; v < s.cluster.servers.length; v++) {
    for (let i = s.start[v], most = 0; i < s.start[v + 1]; i++) s.latest[i] = most = Math.max(most, s.to[s.stay[s.order[i]]]);
  }
}

// sorted returns the indices of keys in ascending order, equal ones in their order (radix sort, two passes of 16 bits).
function sorted(keys) {
  const n = keys.length;
  let order = new Uint32Array(n), other = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  for (const shift of [0, 16]) {
    const count = new Uint32Array(65537);
    for (let i = 0; i < n; i++) count[((keys[i] >>> shift) & 0xffff) + 1]++;
    for (let i = 0; i < 65536; i++) count[i + 1] += count[i];
    for (let i = 0; i < n; i++) { const k = order[i]; other[count[(keys[k] >>> shift) & 0xffff]++] = k; }
    [order, other] = [other, order];
  }
  return order;
}

// firstAbove returns the first index in [lo, hi) whose value is above x, hi if none: values ascend.
function firstAbove(values, x, lo, hi) {
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (values[mid] > x) hi = mid; else lo = mid + 1;
  }
  return lo;
}

// eachBox calls visit(box, stay) for the boxes of a server that touch the time from t0 to t1.
function eachBox(s, server, t0, t1, visit) {
  const hi = s.start[server + 1];
  for (let i = firstAbove(s.latest, t0, s.start[server], hi); i < hi; i++) {
    const b = s.order[i], stay = s.stay[b];
    if (s.from[stay] >= t1) break;
    if (s.to[stay] > t0) visit(b, stay);
  }
}

// outcome is what became of a job.
function outcome(s, j) {
  const a = s.first[j], z = s.first[j + 1], submit = s.jobs.submit[j];
  const o = { stays: z - a, started: z > a, finished: z > a && s.why[z - 1] === s.FINISH, preempted: 0, interrupted: 0, ran: 0 };
  for (let i = a; i < z; i++) {
    o.ran += s.to[i] - s.from[i];
    if (s.why[i] === s.PREEMPT) o.preempted++;
    if (s.why[i] === s.INTERRUPT) o.interrupted++;
  }
  o.waited = (o.started ? s.from[a] : Math.max(submit, s.until)) - submit;
  o.end = o.finished ? s.to[z - 1] : s.until;
  o.jct = o.end - submit;
  o.slowdown = Math.max(1, o.jct * s.tick / Math.max(s.jobs.work[j] * s.tick, 10));
  return o;
}

// makeLevels returns what is told over time, as step functions: the GPUs that waiting jobs ask for, the GPUs that jobs hold and
// may hold, and the servers that are lent and that inference needs.
function makeLevels(s, needAt, need) {
  const { jobs, until } = s, waiting = steps(), held = steps();
  for (let j = 0; j < jobs.n; j++) {
    const wants = jobs.workers[j] * jobs.milli[j];
    let since = jobs.submit[j];
    for (let i = s.first[j]; i < s.first[j + 1]; i++) {
      if (s.from[i] > since) waiting.put(since, s.from[i], wants);
      let milli = 0;
      for (let b = s.box[i]; b < s.box[i + 1]; b++) milli += s.count[b] * s.milli[b];
      held.put(s.from[i], s.to[i], milli);
      since = s.to[i];
      if (s.why[i] === s.FINISH || s.why[i] === s.END) since = until;
    }
    if (since < until) waiting.put(since, until, wants);
  }
  const pools = openAndLent(s);
  const needed = steps();
  for (let i = 0; i < needAt.length; i++) needed.put(needAt[i], i + 1 < needAt.length ? needAt[i + 1] : until, need[i]);
  return { waiting: waiting.done(1000), held: held.done(1000), open: pools.open, lent: pools.lent, need: needed.done(1000) };
}

// openAndLent follows which servers serve training, through loans and failures.
function openAndLent(s) {
  const { servers } = s.cluster, events = [];
  const add = (list, key) => {
    for (let i = 0; i < list.server.length; i++) {
      const k = key(i);
      events.push([list.from[i], 1, list.server[i], k], [list.to[i], -1, list.server[i], k]);
    }
  };
  add(s.loans, () => 'lent');
  add(s.downs, i => s.downs.gpu[i] ? 'broken' : 'down');
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const state = servers.map(v => ({ lent: v.inference ? 0 : 1, down: 0, broken: 0 }));
  const gives = v => state[v].down || !state[v].lent ? 0 : servers[v].gpus - state[v].broken;
  const open = steps(), lent = steps();
  let sum = 0, on = 0, last = 0;
  servers.forEach((_, v) => { sum += gives(v); });
  for (const [at, sign, v, key] of [...events, [s.until, 0, 0, 'down']]) {
    if (at > last) { open.put(last, at, sum); lent.put(last, at, on); last = at; }
    sum -= gives(v);
    state[v][key] += sign;
    sum += gives(v);
    if (key === 'lent') on += sign;
  }
  return { open: open.done(1), lent: lent.done(1) };
}

// steps gathers intervals with a height each, and turns their sum into a step function: value[i] holds from at[i] to at[i + 1],
// and area[i] is its integral up to at[i].
function steps() {
  const at = [], by = [];
  return {
    put(from, to, height) { at.push(from, to); by.push(height, -height); },
    done(scale) {
      const order = sorted(at), f = { at: [0], value: [0], area: [0], top: 0 };
      let sum = 0, k = 0;
      for (let i = 0; i < order.length;) {
        const t = at[order[i]];
        let change = 0;
        for (; i < order.length && at[order[i]] === t; i++) change += by[order[i]];
        if (change === 0) continue;
        if (t > f.at[k]) {
          f.area.push(f.area[k] + f.value[k] * (t - f.at[k]));
          f.at.push(t); f.value.push(0); k++;
        }
        sum += change;
        f.value[k] = sum / scale;
        f.top = Math.max(f.top, f.value[k]);
      }
      return { at: Float64Array.from(f.at), value: Float64Array.from(f.value), area: Float64Array.from(f.area), top: f.top };
    },
  };
}

// walk returns a function that tells, of windows of time that never go back, the mean and the largest value of a step function.
function walk(f) {
  let k = 0;
  const integral = t => f.area[k] + f.value[k] * (t - f.at[k]);
  return (t0, t1) => {
    if (f.at[k] <= t0 && k + 64 < f.at.length && f.at[k + 64] <= t0) k = firstAbove(f.at, t0, k, f.at.length) - 1;
    while (k + 1 < f.at.length && f.at[k + 1] <= t0) k++;
    const before = integral(t0);
    let most = f.value[k];
    while (k + 1 < f.at.length && f.at[k + 1] < t1) most = Math.max(most, f.value[++k]);
    return { mean: t1 > t0 ? (integral(t1) - before) / (t1 - t0) : f.value[k], most };
  };
}
