// The strips under the schedules: levels over time on the same axis, both schedules as lines.

const STRIP_HEIGHT = 64, AXIS_HEIGHT = 30;

// timeTicks returns round times of a window, in seconds, about as far apart as labels need.
function timeTicks(t0, t1, width) {
  const fits = room => timeStep((t1 - t0) / Math.max(2, width / room)), ticks = [];
  let step = fits(60);
  if (step < DAY) step = fits(t1 < DAY ? 62 : 92); // "04:15" or "3 d 04:15"
  if (step < 60) step = fits(112);
  for (let k = Math.ceil(t0 / step - 1e-9); k * step <= t1; k++) ticks.push(k * step);
  return { step, ticks };
}

function drawAxis(canvas, data, view, colours, width) {
  const { ctx } = fit(canvas, width, AXIS_HEIGHT), gutter = view.gutter, w = width - gutter;
  const t0 = view.t0 * data.tick, t1 = view.t1 * data.tick;
  const { step, ticks } = timeTicks(t0, t1, w);
  ctx.font = '11.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
  ctx.textBaseline = 'top';
  ctx.textAlign = 'center';
  ctx.strokeStyle = colours.css('firm');
  ctx.fillStyle = colours.css('quiet');
  ctx.beginPath();
  ctx.moveTo(gutter, 0.5); ctx.lineTo(width, 0.5);
  for (const t of ticks) {
    const x = gutter + (t - t0) / (t1 - t0) * w;
    ctx.moveTo(x, 0); ctx.lineTo(x, 5);
    const label = instant(t, step), half = ctx.measureText(label).width / 2;
    ctx.fillText(label, Math.min(width - half, Math.max(half, x)), 9);
  }
  ctx.stroke();
}

// STRIPS says what each strip shows of a schedule: value(levels) returns, window by window, its height.
const STRIPS = {
  waiting: { lines: [l => { const at = walk(l.waiting); return (a, b) => at(a, b).most; }], top: all => Math.max(...all.map(s => s.levels.waiting.top)), show: v => group(v, v < 10 ? 1 : 0) + ' GPUs' },
  used: {
    lines: [l => { const held = walk(l.held), open = walk(l.open); return (a, b) => { const o = open(a, b).mean; return o > 0 ? 100 * held(a, b).mean / o : 0; }; }],
    top: () => 100, show: v => trim(v, 1) + ' %',
  },
  lent: {
    lines: [l => { const at = walk(l.lent); return (a, b) => at(a, b).mean; }, l => { const at = walk(l.need); return (a, b) => at(a, b).mean; }],
    top: all => Math.max(...all.flatMap(s => [s.levels.lent.top, s.levels.need.top])), show: v => trim(v, 1) + ' servers',
  },
};

function drawStrip(canvas, kind, shown, view, colours, width) {
  const { ctx, dpr } = fit(canvas, width, STRIP_HEIGHT), gutter = view.gutter, w = width - gutter;
  const strip = STRIPS[kind], top = Math.max(strip.top(shown.map(x => x.s)), 1e-9), base = STRIP_HEIGHT - 1, room = STRIP_HEIGHT - 8;
  ctx.font = FONT;
  ctx.textAlign = 'right';
  ctx.fillStyle = colours.css('quiet');
  ctx.textBaseline = 'middle';
  ctx.strokeStyle = colours.css('rule');
  ctx.lineWidth = 1;
  for (const share of [0, 0.5, 1]) {
    const y = Math.round(base - share * room) - 0.5;
    ctx.beginPath(); ctx.moveTo(gutter, y); ctx.lineTo(width, y); ctx.stroke();
    if (share !== 0.5) ctx.fillText(share ? group(top, top < 10 ? 1 : 0) : '0', gutter - 7, share ? y + 3 : y - 4);
  }
  const columns = Math.round(w * Math.min(dpr, 2)), per = (view.t1 - view.t0) / columns;
  ctx.save();
  ctx.beginPath(); ctx.rect(gutter, 0, w, STRIP_HEIGHT); ctx.clip();
  shown.forEach(({ s, index }, k) => {
    if (k > 0 && s === shown[0].s) return;
    strip.lines.forEach((line, l) => {
      if (l > 0 && k > 0) return; // what inference needs is the same under both
      const at = line(s.levels), path = new Path2D();
      let last = null;
      for (let c = 0; c < columns; c++) {
        const a = view.t0 + c * per;
        if (a >= s.until) break;
        const y = base - Math.min(1, at(a, Math.min(a + per, s.until)) / top) * room;
        const x = gutter + c / columns * w;
        if (last === null) path.moveTo(x, y); else if (y !== last) { path.lineTo(x, last); path.lineTo(x, y); }
        last = y;
        if (c === columns - 1) path.lineTo(width, y);
        else if (a + per >= s.until) { path.lineTo(gutter + (s.until - view.t0) / (view.t1 - view.t0) * w, y); }
      }
      const colour = l > 0 ? colours.css('quiet') : colours.css('p' + look(index).colour);
      ctx.lineWidth = 1.5;
      ctx.setLineDash(l > 0 ? [1.5, 3] : k > 0 ? [6, 3] : []); // by place, for those who see the colours alike
      ctx.strokeStyle = colour;
      ctx.stroke(path);
    });
  });
  ctx.restore();
}
