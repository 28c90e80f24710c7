// What lies over the schedules and beside them: outlines of a job, tips, and the list of first differences.

// outline marks what a job holds in a schedule. area: [x, y, width, height] of the chart on the canvas.
function outline(ctx, s, view, j, [left, top, width, height], weight, colours) {
  const perRow = height / (view.r1 - view.r0), perTick = width / (view.t1 - view.t0), { row } = s.cluster;
  ctx.save();
  ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = colours.css('fg'); ctx.lineWidth = weight;
  for (let i = s.first[j]; i < s.first[j + 1]; i++) {
    if (s.to[i] <= view.t0 || s.from[i] >= view.t1) continue;
    const x0 = Math.max(left - 5, left + (s.from[i] - view.t0) * perTick), x1 = Math.min(left + width + 5, left + (s.to[i] - view.t0) * perTick);
    for (let b = s.box[i]; b < s.box[i + 1]; b++) {
      const share = s.milli[b] < 1000, r = row[s.server[b]] + s.gpu[b] - view.r0 + (share ? s.slot[b] / 1000 : 0);
      const y = top + r * perRow, tall = Math.max(1, (share ? s.milli[b] / 1000 : s.count[b]) * perRow);
      if (x1 - x0 >= 5) ctx.strokeRect(x0, y, x1 - x0, tall);
      else if (weight < 2) ctx.fillRect(x0, y, Math.max(1, x1 - x0), tall); // a chosen job has its colour anyway
    }
  }
  ctx.restore();
}

// tipOf says what is at a point of the view, line by line, null for nothing. t is the instant there, one a pixel's time.
function tipOf(data, shown, at, t, one) {
  const { jobs, cluster } = data, sec = t => t * data.tick;
  if (at.panel !== undefined && !at.inside) {
    const v = cluster.servers[firstAbove(cluster.row, Math.floor(at.row), 0, cluster.servers.length + 1) - 1];
    if (!v) return null;
    return [v.name, [plural(v.gpus, 'GPU') + (v.type ? ' ' + v.type : ''), v.inference ? 'inference pool' : 'training pool', v.rack && 'rack ' + v.rack].filter(Boolean).join(' · ')];
  }
  if (at.job !== undefined) {
    const { s } = shown[at.panel], o = outcome(s, at.job);
    return ['Job ' + jobs.name[at.job],
      gpusOf(data, at.job) + (jobs.user(at.job) ? ' · ' + jobs.user(at.job) : ''),
      where(s, at.stay),
      `${instant(sec(s.from[at.stay]), 1)} – ${instant(sec(s.to[at.stay]), 1)}, ${ENDED[s.ends[s.why[at.stay]]]}`,
      (o.finished ? 'JCT ' + duration(sec(o.jct)) + ' · ' : '') + 'waited ' + duration(sec(o.waited))];
  }
  if (at.strip && at.inside) {
    const strip = STRIPS[at.strip], distinct = shown.filter((x, i) => i === 0 || x.s !== shown[0].s);
    return [instant(sec(t), 1), ...distinct.map(({ s, name }) =>
      t >= s.until ? name + ': ended' : name + ': ' + strip.show(strip.lines[0](s.levels)(t, Math.min(t + one, s.until))))];
  }
  return null;
}

// differenceOf tells where two schedules first differ, with a button that goes there. now says that they are those shown.
function differenceOf(d, now, show) {
  const button = element('button', { type: 'button', textContent: 'Show' });
  button.onclick = show;
  const lines = (texts, className) => (texts || []).map(t => element('li', { textContent: t, className }));
  return element('div', { className: 'one' + (now ? '' : ' off') },
    element('h4', { textContent: `${d.above} and ${d.below}: at ${instant(d.at, 1)}` + (d.job ? `, over job ${d.job}` : '') }), button,
    element('ul', {}, ...lines(d.what, 'what'), ...lines(d.why, 'why')));
}
