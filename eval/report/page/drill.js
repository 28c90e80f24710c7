// What became of one job, under both schedules side by side.

const ENDED = { finish: 'finished', preempt: 'preempted', interrupt: 'interrupted', resize: 'resized', migrate: 'moved', end: 'still running at the end' };
const HISTORY = 40; // stays that are listed

function gpusOf(data, j) {
  const { workers, least, most, milli } = data.jobs, share = milli[j] / 1000;
  let text = share === 1 ? plural(workers[j], 'GPU') : `${workers[j]} × ${trim(share, 3)} GPU`;
  if (least[j] !== most[j]) text += ` (elastic: ${least[j]} to ${most[j]} workers)`;
  return text;
}

// where names the GPUs of a stay: "server-3: 0–3, 6".
function where(s, i) {
  const by = new Map();
  for (let b = s.box[i]; b < s.box[i + 1]; b++) {
    const g = s.gpu[b], n = s.count[b], share = s.milli[b] < 1000 ? ` (${trim(s.milli[b] / 1000, 3)})` : '';
    const text = (n > 1 ? g + '–' + (g + n - 1) : String(g)) + share;
    by.set(s.server[b], [...(by.get(s.server[b]) || []), text]);
  }
  return [...by].map(([v, list]) => s.cluster.servers[v].name + ': ' + list.join(', ')).join('; ');
}

function held(s, i) {
  let milli = 0;
  for (let b = s.box[i]; b < s.box[i + 1]; b++) milli += s.count[b] * s.milli[b];
  return milli / 1000;
}

// drill returns the panel of a job. shown: [{s, index, name}].
function drill(data, shown, j, close) {
  const sec = t => t * data.tick, { jobs } = data;
  const who = jobs.user(j) ? ' by ' + jobs.user(j) : '';
  const ask = [gpusOf(data, j), jobs.type(j) && 'on ' + jobs.type(j).replaceAll('|', ' or '), jobs.model(j) && 'trains ' + jobs.model(j),
    duration(sec(jobs.work[j])) + ' of work', jobs.estimate[j] ? 'estimated ' + duration(sec(jobs.estimate[j])) : 'no estimate',
    jobs.tenant(j) && 'tenant ' + jobs.tenant(j),
    j < data.warm ? 'there from the start, to fill the cluster' : 'submitted' + who + ' at ' + instant(sec(jobs.submit[j]), 1)];
  const button = element('button', { type: 'button', textContent: 'Close' });
  button.onclick = close;
  return [
    element('header', {}, element('h4', { textContent: 'Job ' + jobs.name[j] }), button),
    element('p', { className: 'ask', textContent: ask.filter(Boolean).join(' · ') }),
    element('div', { className: 'both' }, ...shown.map(({ s, index, name }) => side(s, index, name, j, sec))),
  ];
}

function side(s, index, name, j, sec) {
  const o = outcome(s, j), mark = element('i');
  mark.style.background = `var(--p${look(index).colour})`;
  const term = (dt, dd) => element('div', {}, element('dt', { textContent: dt }), element('dd', { textContent: dd }));
  const facts = [];
  if (o.finished) facts.push(term('JCT', duration(sec(o.jct))), term('Slowdown', (o.slowdown < 100 ? trim(o.slowdown, 2) : group(o.slowdown)) + ' ×'));
  else facts.push(term('JCT', 'unfinished'));
  facts.push(term(o.started ? 'Waited' : 'Waits for', duration(sec(o.waited))), term('Ran', duration(sec(o.ran))), term('Pieces', group(o.stays)), term('Preempted', group(o.preempted)));
  if (o.interrupted) facts.push(term('Interrupted', group(o.interrupted)));
  if (o.finished) facts.push(term('End', instant(sec(o.end), 1)));
  const list = element('ol');
  const line = (t, text) => list.append(element('li', {}, element('time', { textContent: instant(sec(t), 1) }), element('span', { textContent: text })));
  line(s.jobs.submit[j], 'submitted');
  const a = s.first[j], z = s.first[j + 1];
  for (let i = a; i < z; i++) {
    if (i - a === HISTORY && z - i > 1) { line(s.from[i], `… ${plural(z - i - 1, 'more piece')}`); i = z - 1; }
    const g = held(s, i);
    line(s.from[i], `${i === a ? 'started' : 'on'} ${trim(g, 3)} ${g === 1 ? 'GPU' : 'GPUs'}, ${where(s, i)}, for ${duration(sec(s.to[i] - s.from[i]))}`);
    line(s.to[i], ENDED[s.ends[s.why[i]]]);
  }
  if (!o.started) line(s.until, 'had not started when the schedule ended');
  return element('section', { className: 'side' }, element('h5', {}, mark, name), element('dl', {}, ...facts), list);
}
