// The linked view: one or two schedules and the strips, on one window of time. All drawing happens in animation frames.

function makeView(root, data, policies, differs) {
  const q = (sel, at = root) => at.querySelector(sel), qa = (sel, at = root) => [...at.querySelectorAll(sel)];
  const stage = q('.stage'), over = q('.over'), tip = q('.stage > .tip'), panel = q('.drill');
  const panels = qa('.panel').map((el, i) => ({ el, canvas: q('canvas', el), select: q('select', el), swatch: q('.swatch', el), about: q('.about', el), range: q('.range', el), k: Math.min(i, data.all.length - 1) }));
  const strips = qa('.strip').map(el => ({ kind: el.dataset.strip, canvas: q('canvas', el) }));
  const axis = q('.axis'), rows = Math.max(1, data.cluster.rows);
  let end = endOf(); // of what is shown
  const least = Math.min(end, Math.max(20, 2 / data.tick)); // of a window: 2 s
  const view = { t0: 0, t1: end, r0: 0, r1: rows, gutter: gutterFor(data.cluster) };
  const modes = paints(data);
  let paint = prepared('job'), job = -1, hover = null, drag = null, width = 0, frame = 0, colours = theme();

  function endOf() { return Math.max(1, ...panels.map(p => data.all[p.k].until)); }
  const shown = () => panels.map(p => ({ s: data.all[p.k], name: data.all[p.k].about.name, index: Math.max(0, policies.indexOf(data.all[p.k].about.name)) }));
  const panelHeight = () => Math.round(Math.min(innerWidth < 560 ? 230 : data.all.length > 1 ? 330 : 460, Math.max(96, rows * (rows <= 24 ? 14 : 7))));
  const toTime = x => view.t0 + (x - view.gutter) / (width - view.gutter) * (view.t1 - view.t0);
  const toX = t => view.gutter + (t - view.t0) / (view.t1 - view.t0) * (width - view.gutter);

  // prepared computes the colour of every job once; those that depend on the schedule, for each.
  function prepared(mode) {
    const m = modes[mode], known = new Map();
    return { ...m, mode, of: (j, s) => {
      const of = mode === 'slowdown' ? s : null;
      if (!known.has(of)) known.set(of, Uint8Array.from({ length: data.jobs.n }, (_, i) => m.of(i, s)));
      return (paint.last === of ? paint.table : (paint.last = of, paint.table = known.get(of)))[j];
    } };
  }

  function draw() {
    frame = 0;
    const h = panelHeight(), both = shown();
    panels.forEach((p, i) => {
      drawGantt(p.canvas, both[i].s, view, paint, colours, job, width, h);
      p.range.textContent = rangeText();
    });
    drawAxis(axis, data, view, colours, width);
    for (const s of strips) drawStrip(s.canvas, s.kind, both, view, colours, width);
    root.dataset.drawn = String(1 + Number(root.dataset.drawn || 0));
    drawOver();
  }
  function redraw() { if (!frame) frame = requestAnimationFrame(draw); }

  function rangeText() {
    const a = view.t0 * data.tick, b = view.t1 * data.tick, step = (b - a) / 200;
    return `${instant(a, Math.min(step, 60))} – ${instant(b, Math.min(step, 60))}`;
  }

  // drawOver draws what moves with the pointer: the instant it points at, the job under it, a selection, and marks.
  function drawOver() {
    const { ctx } = fit(over, width, stage.offsetHeight), top = el => el.offsetTop;
    const line = (t, colour, dash, from, to) => {
      if (t < view.t0 || t > view.t1) return;
      const x = Math.round(toX(t)) + 0.5;
      ctx.strokeStyle = colour; ctx.setLineDash(dash); ctx.lineWidth = 1;
      ctx.beginPath(); ctx.moveTo(x, from); ctx.lineTo(x, to); ctx.stroke(); ctx.setLineDash([]);
    };
    const areas = [...panels.map(p => p.canvas), ...strips.map(s => s.canvas)];
    const both = shown();
    const mark = current();
    if (mark) {
      for (const p of panels) line(mark.at / data.tick, colours.css('mark'), [4, 3], top(p.canvas) - 3, top(p.canvas) + p.canvas.offsetHeight + 3);
      const x = toX(mark.at / data.tick), y = top(axis);
      if (x >= view.gutter && x <= width) { ctx.fillStyle = colours.css('mark'); ctx.beginPath(); ctx.moveTo(x, y + 1); ctx.lineTo(x - 5, y + 9); ctx.lineTo(x + 5, y + 9); ctx.fill(); }
    }
    for (const [j, weight] of [[hover && hover.job !== undefined ? hover.job : -1, 1.5], [job, 2]]) {
      if (j < 0) continue;
      panels.forEach((p, i) => outline(ctx, both[i].s, view, j, [view.gutter, top(p.canvas), width - view.gutter, p.canvas.offsetHeight], weight, colours));
    }
    if (hover && !drag) for (const a of areas) line(toTime(hover.x), colours.css('quiet'), [], top(a), top(a) + a.offsetHeight);
    if (drag && drag.moved && drag.mode === 'select') {
      const [x0, x1, y0, y1] = selection();
      ctx.fillStyle = 'rgba(0,98,163,.16)'; ctx.strokeStyle = colours.css('link');
      const targets = y0 === null ? areas.map(a => [top(a), a.offsetHeight]) : panels.map(p => [top(p.canvas) + y0, y1 - y0]);
      for (const [y, h] of targets) { ctx.fillRect(x0, y, x1 - x0, h); ctx.strokeRect(x0 + 0.5, y + 0.5, x1 - x0 - 1, h - 1); }
    }
  }

  function clamp() {
    const span = Math.min(end, Math.max(least, view.t1 - view.t0));
    const mid = (view.t0 + view.t1) / 2;
    view.t0 = Math.min(end - span, Math.max(0, mid - span / 2)); view.t1 = view.t0 + span;
    const tall = Math.min(rows, Math.max(Math.min(rows, 2), view.r1 - view.r0)), at = (view.r0 + view.r1) / 2;
    view.r0 = Math.min(rows - tall, Math.max(0, at - tall / 2)); view.r1 = view.r0 + tall;
  }
  function setTime(t0, t1) { view.t0 = t0; view.t1 = t1; clamp(); redraw(); }
  function zoom(factor, at = (view.t0 + view.t1) / 2) {
    const span = Math.min(end, Math.max(least, (view.t1 - view.t0) * factor)), share = (at - view.t0) / (view.t1 - view.t0);
    setTime(at - share * span, at + (1 - share) * span);
  }
  function pan(by) { // keep the width of the window at the ends
    const span = view.t1 - view.t0, t0 = Math.min(end - span, Math.max(0, view.t0 + by));
    setTime(t0, t0 + span);
  }
  function panRows(by) { const n = view.r1 - view.r0; view.r0 = Math.min(rows - n, Math.max(0, view.r0 + by)); view.r1 = view.r0 + n; redraw(); }
  function reset() { view.r0 = 0; view.r1 = rows; hideTip(); setTime(0, end); }

  // point says what is under a pointer: a place in the stage, and where it is in a Gantt chart the schedule, row and stay there.
  function point(e) {
    const r = stage.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
    const at = { x, y, inside: x >= view.gutter && x <= width };
    panels.forEach((p, i) => {
      const top = p.canvas.offsetTop, h = p.canvas.offsetHeight;
      if (y < top || y >= top + h) return;
      at.panel = i; at.dy = y - top; at.row = view.r0 + at.dy / h * (view.r1 - view.r0);
      if (!at.inside) return;
      at.stay = stayAt(data.all[p.k], toTime(x), at.row, 2 * (view.t1 - view.t0) / (width - view.gutter));
      if (at.stay >= 0) at.job = data.all[p.k].job[at.stay];
    });
    strips.forEach(s => { if (y >= s.canvas.offsetTop && y < s.canvas.offsetTop + s.canvas.offsetHeight) at.strip = s.kind; });
    if (y >= axis.offsetTop && y < axis.offsetTop + axis.offsetHeight) at.axis = true;
    at.live = at.panel !== undefined || at.strip || at.axis;
    return at;
  }

  // selection is the dragged window: in time, and in rows where the drag goes up or down on a schedule.
  function selection() {
    const a = drag.from, b = drag.to, h = panels[0].canvas.offsetHeight;
    const x = v => Math.min(width, Math.max(view.gutter, v));
    const wide = Math.abs(a.x - b.x) > 5, top = a.panel === undefined ? 0 : panels[a.panel].canvas.offsetTop;
    const y = v => Math.min(h, Math.max(0, v - top)), ys = [y(a.y), y(b.y)].sort((p, r) => p - r);
    const tall = a.panel !== undefined && ys[1] - ys[0] > (wide ? 28 : 8);
    const xs = wide ? [x(a.x), x(b.x)].sort((p, r) => p - r) : [view.gutter, width];
    return [...xs, ...(tall ? ys : [null, null])];
  }

  const touches = new Map();
  stage.onpointerdown = e => {
    if (e.button !== 0 || e.target.closest('select,button')) return;
    const at = point(e);
    if (!at.live) return;
    if (e.pointerType !== 'touch') stage.focus({ preventScroll: true });
    touches.set(e.pointerId, at);
    hideTip();
    if (e.pointerType === 'touch' && touches.size === 2) {
      const [a, b] = [...touches.values()];
      drag = { mode: 'pinch', a: toTime(a.x), b: toTime(b.x), moved: true };
      return;
    }
    drag = { mode: e.pointerType === 'touch' || e.shiftKey ? 'pan' : 'select', from: at, to: at, moved: false, t0: view.t0, r0: view.r0 };
    stage.setPointerCapture(e.pointerId);
    if (e.pointerType === 'mouse') e.preventDefault();
  };
  stage.onpointermove = e => {
    const at = point(e);
    if (touches.has(e.pointerId)) touches.set(e.pointerId, at);
    if (!drag) { hover = at.live && at.inside ? at : null; showTip(at); requestAnimationFrame(drawOver); return; }
    if (drag.mode === 'pinch') {
      if (touches.size < 2) return;
      const [p, r] = [...touches.values()], w = width - view.gutter, apart = p.x - r.x;
      if (Math.abs(apart) < 12) return;
      const per = (drag.a - drag.b) / apart;
      if (per > 0) setTime(drag.a - (p.x - view.gutter) * per, drag.a - (p.x - view.gutter) * per + w * per);
      return;
    }
    drag.to = at;
    drag.moved = drag.moved || Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > 4;
    if (drag.mode === 'pan' && drag.moved) {
      pan(drag.t0 - (at.x - drag.from.x) / (width - view.gutter) * (view.t1 - view.t0) - view.t0);
      if (e.pointerType === 'mouse') panRows(drag.r0 - (at.y - drag.from.y) / panels[0].canvas.offsetHeight * (view.r1 - view.r0) - view.r0);
    } else requestAnimationFrame(drawOver);
  };
  stage.onpointerup = e => {
    touches.delete(e.pointerId);
    const d = drag;
    drag = null;
    if (!d || d.mode === 'pinch') return;
    if (!d.moved) { if (d.from.job !== undefined) pick(d.from.job); else if (d.from.panel !== undefined) pick(-1); return; }
    if (d.mode === 'select') {
      drag = d; const [x0, x1, y0, y1] = selection(); drag = null;
      const t0 = toTime(x0), t1 = toTime(x1);
      if (y0 !== null) {
        const h = panels[0].canvas.offsetHeight, r = y => view.r0 + y / h * (view.r1 - view.r0);
        [view.r0, view.r1] = [Math.floor(r(y0)), Math.ceil(r(y1))];
      }
      setTime(t0, t1);
    }
  };
  stage.onpointercancel = e => { touches.delete(e.pointerId); drag = null; redraw(); };
  stage.onpointerleave = () => { if (!drag) { hover = null; hideTip(); requestAnimationFrame(drawOver); } };
  stage.ondblclick = e => { if (point(e).live) { pick(-1); reset(); } };
  stage.addEventListener('wheel', e => {
    const at = point(e);
    if (!at.live) return;
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(Math.exp(Math.max(-120, Math.min(120, e.deltaY)) * 0.004), toTime(Math.max(view.gutter, at.x))); }
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); pan((e.deltaX || e.deltaY) / width * (view.t1 - view.t0)); }
  }, { passive: false });
  stage.onkeydown = e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('select')) return;
    const step = 0.2 * (view.t1 - view.t0), tall = view.r1 - view.r0 < rows;
    const act = {
      ArrowLeft: () => pan(-step), ArrowRight: () => pan(step), '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '_': () => zoom(2),
      Escape: () => { pick(-1); reset(); }, Home: () => pan(-end), End: () => pan(end),
      ArrowUp: tall && (() => panRows(-Math.max(1, 0.2 * (view.r1 - view.r0)))), ArrowDown: tall && (() => panRows(Math.max(1, 0.2 * (view.r1 - view.r0)))),
    }[e.key];
    if (act) { e.preventDefault(); act(); }
  };

  function hideTip() { tip.hidden = true; }
  function showTip(at) {
    const lines = tipOf(data, shown(), at, toTime(at.x), (view.t1 - view.t0) / (width - view.gutter));
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(element('b', { textContent: lines[0] }), ...lines.slice(1).map(l => element('div', { textContent: l, className: 'quiet' })));
    place(tip, stage, at.x, at.y + 16);
  }

  // pick opens the panel of a job and marks it in both schedules; -1 closes it.
  function pick(j) {
    job = j;
    const opens = panel.hidden && j >= 0;
    panel.hidden = j < 0;
    if (j >= 0) panel.replaceChildren(...drill(data, distinct(), j, () => { pick(-1); stage.focus({ preventScroll: true }); }));
    if (opens && !document.activeElement.closest('.find')) uncover(); // who searches goes on in the field above
    if (j < 0) cover();
    redraw();
  }

  // uncover scrolls the page so far that the panel, which stays at the bottom of the window, hides no part of the lower schedule.
  // cover scrolls back, unless the reader has scrolled since.
  let moved = 0, stands = -1;
  function cover() {
    if (moved > 0 && Math.abs(window.scrollY - stands) < 2) window.scrollBy({ top: -moved, behavior: 'instant' });
    moved = 0;
  }
  function uncover() {
    const schedules = stage.querySelectorAll('canvas.gantt'), lower = schedules[schedules.length - 1].getBoundingClientRect();
    const hidden = lower.bottom - panel.getBoundingClientRect().top;
    if (hidden <= 0) return;
    const before = window.scrollY;
    window.scrollBy({ top: hidden + 4, behavior: 'instant' });
    stands = window.scrollY;
    moved = stands - before;
  }
  function distinct() { return shown().filter((x, i, all) => all.findIndex(y => y.s === x.s) === i); }

  // show zooms to where a job is in the schedules shown.
  function show(j) {
    let a = data.jobs.submit[j], z = a;
    for (const { s } of shown()) z = Math.max(z, outcome(s, j).end);
    const pad = Math.max(0.15 * (z - a), least);
    view.r0 = 0; view.r1 = rows;
    setTime(a - pad, z + pad);
    pick(j);
  }

  const found = q('.found'), search = q('.find input');
  q('.find').onsubmit = e => {
    e.preventDefault();
    const text = search.value.trim();
    let j = data.jobs.name.indexOf(text);
    if (j < 0 && text) j = data.jobs.name.findIndex(n => n.toLowerCase().startsWith(text.toLowerCase()));
    found.classList.toggle('none', j < 0);
    found.textContent = !text || j >= 0 ? '' : 'No such job';
    if (text && j >= 0) show(j);
  };
  q('[data-do=in]').onclick = () => zoom(0.5);
  q('[data-do=out]').onclick = () => zoom(2);
  q('[data-do=reset]').onclick = () => { pick(-1); reset(); };
  q('[data-do=paint]').onchange = e => { paint = prepared(e.target.value); keys(); redraw(); };
  q('.keys').textContent = matchMedia('(pointer:coarse)').matches ? 'Swipe moves, two fingers zoom' : 'Drag or Ctrl+wheel zooms · ← → move · + − zoom · Esc shows all';
  function keys() {
    q('.colours').replaceChildren(...(paint.key || []).map((k, i) => { const mark = element('i'); mark.style.background = paint.list[i]; return element('span', {}, mark, k); }));
  }

  panels.forEach((p, i) => {
    p.select.value = String(p.k);
    p.select.onchange = () => { p.k = Number(p.select.value); changed(); if (job >= 0) pick(job); };
  });
  // changed follows another choice of schedules: who looks at all of the time goes on to do so.
  function changed() {
    const whole = view.t0 <= 0 && view.t1 >= end;
    end = endOf();
    heads();
    setTime(view.t0, whole ? end : view.t1);
  }
  function heads() {
    shown().forEach(({ s, index }, i) => {
      const a = s.about;
      panels[i].swatch.style.background = `var(--p${look(index).colour})`;
      panels[i].about.textContent = `mean JCT ${duration(a.meanJCT)} · makespan ${duration(a.makespan)} · utilisation ${percent(a.used)}`
        + (a.truncated ? ` · cut off: ${a.truncated}, ${group(a.finished)} of ${group(data.jobs.n - data.warm)} jobs finished` : '');
      panels[i].about.title = panels[i].about.textContent;
    });
    listDiffers();
  }

  // current is the difference between the two schedules shown, if the report names one.
  function current() {
    const [a, b] = shown().map(x => x.name);
    return differs.find(d => d.above === a && d.below === b || d.above === b && d.below === a);
  }
  function listDiffers() {
    const list = q('.differs .list', root.parentElement), now = current();
    if (!list) return;
    list.replaceChildren(...[...differs].sort((a, b) => (b === now) - (a === now)).map(d => differenceOf(d, d === now, () => showDifference(d))));
  }
  function showDifference(d) {
    [d.above, d.below].forEach((name, i) => {
      const k = data.all.findIndex(s => s.about.name === name);
      if (panels[i] && k >= 0) { panels[i].k = k; panels[i].select.value = String(k); }
    });
    changed();
    const half = Math.max(end / 60, least), t0 = Math.max(0, d.at / data.tick - half);
    view.r0 = 0; view.r1 = rows;
    setTime(t0, t0 + 2 * half);
    pick(data.jobs.name.indexOf(d.job));
    root.scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
  }

  const recolour = () => { colours = theme(); redraw(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
  matchMedia('print').addEventListener('change', () => { colours = theme(); draw(); });
  heads();
  responsive(stage, w => { width = w; view.gutter = gutterFor(data.cluster); redraw(); });
  // level samples a level of the k-th schedule in equal parts of its time: what eval.NewTimeline tells.
  const level = (k, name, parts) => {
    const s = data.all[k], at = walk(s.levels[name]), per = s.until / parts;
    return Array.from({ length: parts }, (_, i) => at(i * per, (i + 1) * per));
  };
  return { view, data, level };
}
